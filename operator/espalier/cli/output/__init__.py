"""
Writing results: formats, tables, JUnit, SARIF, the terminal, exit codes.
"""
