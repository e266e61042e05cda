"""
What reviews use: the GitHub action and the template for GitLab, run without those services.
"""
