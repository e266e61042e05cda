"""
Definitions with ``preserveUnknownFields``: prune in the client, archive first, restore later.
"""
