"""
What is seen of the operator: one record of its state, and what is made from it.

Conditions, metrics, the page, ``status`` and the report all show the same numbers, since all are
made from ``Snapshot``. Nothing here writes to a cluster, opens a socket, or decides anything.
"""
