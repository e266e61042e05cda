"""
One object at several versions: reading, comparing, and the health of the conversion webhook.

Writes nothing.
"""
