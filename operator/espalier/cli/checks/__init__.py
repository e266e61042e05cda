"""
Check one definition or object of a file, or many definitions in parallel.
"""
