"""
What an API server would answer to a create, an update, or a write of the status or scale.
"""
