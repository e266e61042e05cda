"""
HTTP: the client and its session, requests and responses, JSON, removal of values from messages.
"""
