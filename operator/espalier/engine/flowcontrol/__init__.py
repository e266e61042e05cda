"""
How fast calls are made, when they are repeated, how long to wait first: rate, backoff, sightings.

No call of its own.
"""
