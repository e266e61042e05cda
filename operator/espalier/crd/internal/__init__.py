"""
A definition in the form of the API server's internal types, after decoding.
"""
