"""
Publish schemas as OpenAPI: unfolding, stripping, unions.
"""
