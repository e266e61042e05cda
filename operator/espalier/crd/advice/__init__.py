"""
What an API server accepts and a person should still know: warnings, lints, hints.
"""
