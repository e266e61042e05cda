"""
Validation rules of schemas: binds the language in ``espalier.cel`` to schemas and values.
"""
