"""
Where the API server is and who we are: kubeconfig, service account, exec plugins.
"""
