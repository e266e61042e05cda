"""
One CustomResourceDefinition: its versions, what is stored, and what its schemas amount to. Pure.
"""

from espalier.crd.definition import Condition, Definition, Version, read_definition

__all__ = ["Condition", "Definition", "Version", "read_definition"]
