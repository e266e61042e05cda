"""
Rules of schemas in the Common Expression Language: ``x-kubernetes-validations``.
"""
