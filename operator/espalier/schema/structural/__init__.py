"""
Whether a schema is structural, by which rule not, and what would make it so.
"""
