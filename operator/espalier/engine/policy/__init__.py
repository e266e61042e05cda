"""
Decisions: what labels ask for, what is planned, what would be lost.

Pure; nothing here waits or logs.
"""
