"""
The API server's own migrations: StorageVersionMigration objects.
"""

import logging

import msgspec

from espalier.cluster.requests import Call, Client
from espalier.crd import Definition
from espalier.errors import ForbiddenError, NotFoundError

logger = logging.getLogger(__name__)

# Newer servers first; each serves one of them, or none.
_VERSIONS = ("v1", "v1beta1")
_ENDED = frozenset({"Succeeded", "Failed"})


class _Resource(msgspec.Struct):
    resource: str = ""
    group: str = ""


class _Spec(msgspec.Struct):
    resource: _Resource


class _Condition(msgspec.Struct):
    type: str = ""
    status: str = ""


class _Status(msgspec.Struct):
    conditions: list[_Condition] | None = None


class _Metadata(msgspec.Struct):
    name: str


class _Migration(msgspec.Struct):
    metadata: _Metadata
    spec: _Spec
    status: _Status | None = None

    def is_of(self, definition: Definition) -> bool:
        asked = self.spec.resource
        return (asked.group, asked.resource) == (definition.group, definition.plural)

    @property
    def has_ended(self) -> bool:
        conditions = (self.status.conditions if self.status else None) or ()
        return any(one.type in _ENDED and one.status == "True" for one in conditions)


class _List(msgspec.Struct):
    items: list[_Migration] | None = None


_list = msgspec.json.Decoder(_List)


async def other_migrations(client: Client, definition: Definition) -> tuple[str, ...]:
    """
    Name the migrations of a definition's objects that have not come to their end.

    Returns:
        None where the server knows no such thing, or does not let us look: then only the
        definition's condition tells.

    Raises:
        ClusterError: They cannot be listed now.
    """
    for version in _VERSIONS:
        call = Call(
            verb="list",
            resource="storageversionmigrations.storagemigration.k8s.io",
            method="GET",
            path=f"/apis/storagemigration.k8s.io/{version}/storageversionmigrations",
            is_read=True,
        )
        try:
            found = await client.fetch(call, _list)
        except NotFoundError:
            continue
        except ForbiddenError as error:
            logger.info("May not look for migrations.", extra={"error": str(error)})
            return ()
        return tuple(
            one.metadata.name
            for one in found.items or ()
            if one.is_of(definition) and not one.has_ended
        )
    return ()
