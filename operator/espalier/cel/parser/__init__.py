"""
From the text of an expression to its tree: the parser, its messages, macros.
"""
