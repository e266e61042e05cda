"""
The structural check: its rules, and hints how to fix findings.
"""
