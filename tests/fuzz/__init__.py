"""
Hostile definitions and objects, and what commands and the operator make of them.

Everything is made from a seed: ``python -m tests.fuzz --seed N --cases 1`` repeats a case.
"""
