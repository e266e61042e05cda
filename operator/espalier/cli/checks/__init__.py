"""
What the file commands do with one definition or object, and with many in parallel.
"""
