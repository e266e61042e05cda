"""
Validate a definition with the checks and messages of an API server.
"""
