"""
What an API server refuses in a definition, and with which messages.
"""
