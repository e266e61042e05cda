"""
``metadata`` of objects: decoding, canonical form, validation.
"""
