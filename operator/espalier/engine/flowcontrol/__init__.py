"""
How fast calls are made and when they are repeated: backoff, rate, supervision.

No call of its own.
"""
