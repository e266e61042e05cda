"""
What Go's standard library and the API machinery read and print, where API servers show it.

Knows no schema.
"""
