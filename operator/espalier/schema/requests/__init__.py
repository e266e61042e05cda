"""
The answer of an API server to a create, an update, or a write of the status or scale.
"""
