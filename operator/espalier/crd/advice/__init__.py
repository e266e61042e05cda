"""
Advice on definitions: the API server's warnings, lints, and hints how to fix findings.
"""
