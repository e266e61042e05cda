"""
Espalier holds stored custom resources to the schema of their CustomResourceDefinition.

Public, and kept stable: ``espalier.schema``, ``espalier.crd``, ``espalier.findings``,
``espalier.errors``, the command line and the manifests. Anything else may change.
"""

__version__ = "0.1.0"
