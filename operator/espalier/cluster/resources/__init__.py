"""
The engine's ports over HTTP, one module for each kind of resource.
"""
