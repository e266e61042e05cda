"""
The engine's ports over HTTP, a file for each kind of resource.
"""
