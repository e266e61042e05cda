"""
The resource that a version of a definition serves, for the checks of writes.
"""

from espalier.crd.definition import Definition, Version
from espalier.crd.structural import structural_of
from espalier.schema import Resource


def resource_of(definition: Definition, version: Version) -> Resource:
    """
    Return the resource that a version serves.

    Raises:
        SchemaParseError: API servers refuse to read a part of the schema.
    """
    return Resource(
        api_version=f"{definition.group}/{version.name}",
        kind=definition.kind,
        structural=structural_of(version),
        is_namespaced=definition.namespaced,
        has_status=version.has_status,
        scale=version.scale,
    )
