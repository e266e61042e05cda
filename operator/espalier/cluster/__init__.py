"""
The one adapter that speaks HTTP to a Kubernetes API server.
"""
