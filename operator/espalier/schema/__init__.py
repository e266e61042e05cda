"""
One structural schema and one JSON value: check, prune, default. Pure.
"""
