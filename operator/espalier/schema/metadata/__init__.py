"""
``metadata`` of objects: its decoding, its canonical form, its validation.
"""
