"""
Write results: output formats, tables, JUnit, SARIF, the terminal, exit codes.
"""
