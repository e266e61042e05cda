"""
What is counted and reported: tallies, bounded texts, conditions, causes.

Pure; nothing here waits or logs.
"""
