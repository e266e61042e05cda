"""
Reading files and streams: YAML and JSON with the places of every value.
"""
