"""
Read files and standard input: YAML and JSON with the position of every value.
"""
