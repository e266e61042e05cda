"""
The changes from one definition to another that stored objects or clients may notice.
"""
