"""
Lists objects at the storage version, and at each further version at which some are stored.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from espalier.crd import Definition
from espalier.engine.conversion.comparison import Comparison
from espalier.engine.listing.pages import Listing
from espalier.engine.ports import Endpoint, ObjectPage
from espalier.engine.ports.objects import Objects
from espalier.engine.ports.records import resource_of
from espalier.errors import NothingServedError
from espalier.paths import JSON


class Pages(NamedTuple):
    """
    The same page at several versions; the first one leads.
    """

    first: ObjectPage
    others: Sequence[ObjectPage]

    @property
    def objects(self) -> Sequence[dict[str, JSON]]:
        """
        The objects as the leading version shows them.
        """
        return self.first.objects

    @property
    def continue_token(self) -> str | None:
        """
        Asks for the next page; None after the last one.
        """
        return self.first.continue_token

    @property
    def remaining(self) -> int | None:
        """
        How many objects follow, if the server reported it.
        """
        return self.first.remaining

    @property
    def unread(self) -> Collection[str]:
        """
        Names of objects that could not be decoded at one of the versions.
        """
        return {name: None for page in (self.first, *self.others) for name in page.unread}


class VersionsReader:
    """
    Reads whole objects.

    Attributes:
        resource: At the storage version, or, where that is not served, the first one that is.
        comparisons: One for each further stored version that is served.
        unread_versions: Stored versions that are not served.

    Raises:
        NothingServedError: No version is served.
        NoStorageVersionError: Not exactly one version is marked.
    """

    def __init__(self, definition: Definition, objects: Objects, page_size: int) -> None:
        served = [version for version in definition.versions if version.served]
        storage = definition.storage
        if not served:
            raise NothingServedError(definition.name, storage.name)
        self._objects = objects
        self._page_size = page_size
        self.resource = resource_of(definition, storage if storage.served else served[0])
        further = [name for name in definition.stored_versions if name != self.resource.version]
        self.comparisons = [
            Comparison(objects, resource_of(definition, version), self.resource)
            for version in served
            if storage.served and version.name in further
        ]
        compared = {comparison.resource.version for comparison in self.comparisons}
        self.unread_versions = tuple(name for name in further if name not in compared)

    def listing(self, namespace: str) -> Listing[Pages]:
        """
        List one namespace, or all of them for an empty text.
        """
        return Listing(
            fetch=self._fetch,
            resource=self.resource,
            page_size=self._page_size,
            namespace=namespace,
        )

    async def _fetch(
        self,
        resource: Endpoint,
        *,
        page_size: int,
        continue_token: str | None,
        namespace: str = "",
    ) -> Pages:
        """
        List a page at each version.
        """
        # A token names a key and a resource version, and is the same for all versions.
        listed = [
            await self._objects.list_objects(
                each,
                page_size=page_size,
                continue_token=continue_token,
                namespace=namespace,
            )
            for each in (resource, *(one.resource for one in self.comparisons))
        ]
        return Pages(listed[0], listed[1:])

    async def compare(self, page: Pages) -> None:
        """
        Compare what each version shows with what the storage version does.
        """
        for comparison, other in zip(self.comparisons, page.others, strict=True):
            await comparison.compare(page.first.objects, other.objects)
