"""
The address of the API server and the credentials: kubeconfig, service account, exec plugins.
"""
