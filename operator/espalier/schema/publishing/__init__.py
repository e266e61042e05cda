"""
How schemas are published as OpenAPI, unions included.
"""
