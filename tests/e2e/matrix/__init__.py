"""
Runs the tests with other versions of Kubernetes and of Python, and writes what was seen.
"""
