"""
Validation rules of schemas: the binding of ``espalier.cel`` to schemas and values.
"""
