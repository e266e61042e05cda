"""
What expressions cost: estimates before, and the actual cost while they run.
"""
