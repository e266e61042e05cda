"""
Who still uses a version of a definition, as far as the objects' metadata show it.
"""

from collections.abc import Iterable
from contextlib import aclosing
from dataclasses import dataclass

from espalier.crd import Definition, Version
from espalier.engine.listing.pages import Listing, pages
from espalier.engine.listing.undecodable import UndecodableSkipper
from espalier.engine.policy.field_managers import entries_at
from espalier.engine.ports.clock import Clock
from espalier.engine.ports.objects import Objects
from espalier.engine.ports.records import resource_of
from espalier.engine.status.path_counts import Counter, Counts
from espalier.engine.status.text import printable
from espalier.engine.surveys.survey import DEFAULT_PAGE_SIZE, Onlooker
from espalier.errors import NothingServedError
from espalier.paths import JSON

MAX_MANAGER_CHARACTERS = 128
"""Of the name of a field manager; the API server takes no longer ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionUse:
    """
    What the objects' metadata say of a version.

    Attributes:
        objects: How many objects were read.
        managers: The objects whose ``managedFields`` name the version, by field manager. The API
            server refuses server-side apply to such an object once it does not know the version.
        undecodable: Objects that the server cannot read.
    """

    objects: int
    managers: Counts
    undecodable: tuple[str, ...]


async def version_use(
    definition: Definition,
    version: str,
    objects: Objects,
    clock: Clock,
    *,
    onlooker: Onlooker | None = None,
) -> VersionUse:
    """
    Read the metadata of all objects, and find those that name a version.

    Raises:
        NothingServedError: No version is served, so nothing can be read.
        NoStorageVersionError: Not exactly one version is marked.
        ClusterError: The objects could not be listed.
    """
    listing = Listing(
        fetch=objects.list_metadata,
        resource=resource_of(definition, _readable(definition)),
        page_size=DEFAULT_PAGE_SIZE,
    )
    api_version = f"{definition.group}/{version}"
    managers = Counter()
    seen = 0
    skipper = UndecodableSkipper(objects, definition)
    async with aclosing(pages(listing, clock, skipper=skipper)) as source:
        async for page, _ in source:
            for metadata in page.objects:
                seen += 1
                managers.add(metadata.key, _managers_at(api_version, metadata.managed_fields))
            if onlooker is not None:
                await onlooker.surveyed(seen, remaining=page.remaining)
    return VersionUse(objects=seen, managers=managers.counts(), undecodable=skipper.names)


def _readable(definition: Definition) -> Version:
    storage = definition.storage
    if storage.served:
        return storage
    for version in definition.versions:
        if version.served:
            return version
    raise NothingServedError(definition.name, storage.name)


def _managers_at(api_version: str, managed_fields: Iterable[JSON]) -> list[str]:
    return [
        printable(str(entry.get("manager") or "unnamed"), max_characters=MAX_MANAGER_CHARACTERS)
        for entry in entries_at(managed_fields, api_version)
    ]
