"""
The functions and operators that expressions may call, a file for each library of the server.
"""
