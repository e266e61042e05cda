"""
``espalier demo``: show the operator at work on four definitions, without a cluster.
"""
