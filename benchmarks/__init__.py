"""
What is measured, each by a target of the Makefile; the last line printed is one JSON object.
"""
