"""
A definition as the API server's internal types hold it after decoding.
"""
