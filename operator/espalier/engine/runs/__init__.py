"""
Whole runs: plan, lease, prove, rewrite, settle, verify, trim.

The steps themselves are in the folders below.
"""
