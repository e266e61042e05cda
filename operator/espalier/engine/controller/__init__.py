"""
Keeps the objects of a legacy definition pruned after the run: list, watch, queue, worker.
"""
