"""
The benchmarks. Each has a target in the Makefile and prints one JSON object as its last line.
"""
