"""
What an object's ``managedFields`` name and a read does not show, behind a conversion webhook.

It is asked only where the record of the definition is incomplete. The webhook may rename fields, so
what was set through one version cannot be held to another one's schema. But it shows at each
version what it makes of the stored bytes, and these are pruned by the schema that they are stored
by. What was set at a version and is not shown at it may be hidden by that schema.
"""

from collections.abc import Sequence
from functools import cache, partial

from espalier.crd import Definition
from espalier.crd.shown_fields import unshown_paths
from espalier.crd.structural import structural_of
from espalier.engine.conversion.exact import check_unchanged
from espalier.engine.conversion.webhook import read_shown
from espalier.engine.listing.conversions import ConversionProbe
from espalier.engine.policy.evidence import NOT_SHOWN, bounded
from espalier.engine.policy.field_managers import entries_at
from espalier.engine.policy.version_evidence import UNREADABLE_SCHEMA
from espalier.engine.ports import StoredMetadata
from espalier.engine.ports.objects import Objects
from espalier.engine.ports.records import resource_of
from espalier.errors import SchemaParseError
from espalier.schema import Structural


class NamedFieldsComparison:
    """
    Holds the objects of a definition with a conversion webhook to their ``managedFields``.
    """

    def __init__(self, definition: Definition, objects: Objects, probe: ConversionProbe) -> None:
        self._definition = definition
        self._objects = objects
        self._probe = probe
        self._schema = cache(partial(_schema_of, definition))
        # Those by which the bytes may be stored.
        self._stored = dict.fromkeys((*definition.stored_versions, definition.storage.name))

    async def items(self, metadata: StoredMetadata, versions: Sequence[str]) -> frozenset[str]:
        """
        Name what was set through each version and is not shown at it.

        Raises:
            ConflictError: The object has changed since it was read.
            ConversionRefusedError: It cannot be shown at a version.
            ClusterError: It cannot be read at a version.
        """
        items: set[str] = set()
        for name in versions:
            resource = resource_of(self._definition, self._definition.version(name))
            shown = await read_shown(self._probe, self._objects, resource, metadata.key)
            check_unchanged(shown, metadata, resource)
            entries = entries_at(metadata.managed_fields, resource.api_version)
            try:
                schema = self._schema(name)
                stored_by = [self._schema(each) for each in self._stored]
            except SchemaParseError:
                items.add(f"{UNREADABLE_SCHEMA} {name}")
                continue
            paths = unshown_paths(schema, entries, shown, stored_by=stored_by)
            items.update(f"{NOT_SHOWN} {name}{path}" for path in paths)
        return bounded(items)


def _schema_of(definition: Definition, name: str) -> Structural | None:
    known = {version.name: version for version in definition.versions}
    return structural_of(known[name]) if name in known else None
