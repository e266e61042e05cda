"""
Evaluates a checked expression: plans, attributes, calls, comprehensions.
"""
