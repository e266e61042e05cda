"""
Rewriting one object, one page, one pass, with its retries.

What a whole run does is in ``runs``.
"""
