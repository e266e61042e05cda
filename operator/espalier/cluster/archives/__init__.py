"""
The archives of removed data: Secrets in the cluster, or a folder of files.
"""
