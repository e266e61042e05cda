"""
What keeps one run per definition: the lease, the watch on the definition, the durable record.

Touches no object.
"""
