"""
Reading lists: pages, expiring tokens, objects that the server cannot decode. Writes nothing.
"""
