"""
The type check of expressions: declarations, overloads, inference.
"""
