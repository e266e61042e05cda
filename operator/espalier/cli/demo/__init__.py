"""
``espalier demo``: the operator at work on a small story, with or without a cluster.
"""
