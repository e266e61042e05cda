"""
A thousand faults: migrations one after another, while processes, servers and connections die.
"""
