"""
HTTP: the client, its session, requests and responses, JSON, redaction.
"""
