"""
An in-memory API server for CustomResourceDefinitions and their objects, on Espalier's own core.

It is a stand-in for demonstrations and tests, never for a real API server.
"""
