"""
The commands, each module named as users type it.

A command reads its input, calls the layers below and prints the result.
"""
