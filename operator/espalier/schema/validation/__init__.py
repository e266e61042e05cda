"""
Validate a value against a schema, keyword by keyword, with the messages of the API server.
"""
