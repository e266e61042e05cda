"""
The API server's own migrations: StorageVersionMigration objects.

Servers serve them as v1alpha1 or v1beta1, so the server is asked for its versions first. The fields
that are read here are the same in both.
"""

from collections.abc import Iterator

import msgspec

from espalier.cluster.transport.client import ApiRequest, Client
from espalier.cluster.transport.paths import segment
from espalier.crd import Definition
from espalier.errors import NotFoundError

_GROUP = "storagemigration.k8s.io"
_ENDED = frozenset({"Succeeded", "Failed"})


class _Resource(msgspec.Struct):
    resource: str = ""
    group: str = ""


class _MigrationSpec(msgspec.Struct):
    resource: _Resource


class _Condition(msgspec.Struct):
    type: str = ""
    status: str = ""


class _Status(msgspec.Struct):
    conditions: list[_Condition] | None = None


class _MigrationMetadata(msgspec.Struct):
    name: str


class _Migration(msgspec.Struct):
    metadata: _MigrationMetadata
    spec: _MigrationSpec
    status: _Status | None = None

    def is_of(self, definition: Definition) -> bool:
        asked = self.spec.resource
        return (asked.group, asked.resource) == (definition.group, definition.plural)

    @property
    def has_ended(self) -> bool:
        conditions = (self.status.conditions if self.status else None) or ()
        return any(one.type in _ENDED and one.status == "True" for one in conditions)


class _MigrationList(msgspec.Struct):
    items: list[_Migration] | None = None


class _GroupVersion(msgspec.Struct):
    version: str


class _Group(msgspec.Struct, rename="camel"):
    versions: list[_GroupVersion] | None = None
    preferred_version: _GroupVersion | None = None

    def names(self) -> Iterator[str]:
        """
        Yield the names of the versions, the preferred one first.
        """
        if self.preferred_version is not None:
            yield self.preferred_version.version
        yield from (served.version for served in self.versions or ())


_list = msgspec.json.Decoder(_MigrationList)
_group = msgspec.json.Decoder(_Group)


async def other_migrations(client: Client, definition: Definition) -> tuple[str, ...]:
    """
    Return the names of the unfinished migrations of a definition's objects.

    Returns:
        The names; none if the server has no such API.

    Raises:
        ForbiddenError: This process may not list them.
        ClusterError: They could not be listed.
    """
    for version in await _served_versions(client):
        call = ApiRequest(
            verb="list",
            resource=f"storageversionmigrations.{_GROUP}",
            method="GET",
            path=f"/apis/{_GROUP}/{segment(version)}/storageversionmigrations",
            is_read=True,
        )
        try:
            found = await client.fetch(call, _list)
        except NotFoundError:
            continue
        return tuple(
            one.metadata.name
            for one in found.items or ()
            if one.is_of(definition) and not one.has_ended
        )
    return ()


async def _served_versions(client: Client) -> tuple[str, ...]:
    call = ApiRequest(
        verb="get", resource=_GROUP, method="GET", path=f"/apis/{_GROUP}", is_read=True
    )
    try:
        found = await client.fetch(call, _group)
    except NotFoundError:
        return ()
    return tuple(dict.fromkeys(found.names()))
