"""
A fast way to see that a value is valid; whatever it doubts goes to ``validation``.
"""
