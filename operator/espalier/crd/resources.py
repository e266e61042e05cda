"""
The resource that a version of a definition serves, as writes of its objects depend on it.
"""

from espalier.crd.definition import Definition, Version
from espalier.crd.structural import structural_of
from espalier.schema import Resource


def resource_of(definition: Definition, version: Version) -> Resource:
    """
    Describe what a version serves.

    Raises:
        SchemaParseError: API servers cannot read its schema either.
    """
    return Resource(
        api_version=f"{definition.group}/{version.name}",
        kind=definition.kind,
        structural=structural_of(version),
        is_namespaced=definition.namespaced,
        has_status=version.has_status,
        scale=version.scale,
    )
