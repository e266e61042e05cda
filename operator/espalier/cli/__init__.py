"""
The command line: reads, calls, renders; nothing is decided here.
"""
