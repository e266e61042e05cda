"""
A fast check that a value is valid; values that it cannot decide go to ``validation``.
"""
