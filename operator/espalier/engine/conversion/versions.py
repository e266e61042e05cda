"""
Lists objects at the storage version, and at each further version at which some are stored.

An object that cannot be shown at a further version is not stored at it, since what is stored at a
version is shown at it without a conversion. So nothing of it can be lost there, and the list goes
on.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import NamedTuple

from espalier.crd import Definition
from espalier.engine.conversion.comparison import Comparison
from espalier.engine.listing.conversions import NOT_SHOWN, as_refused
from espalier.engine.listing.pages import Listing
from espalier.engine.ports import Endpoint, ObjectPage, Workers, key_of
from espalier.engine.ports.objects import Objects
from espalier.engine.ports.records import resource_of
from espalier.errors import ConversionError, ConversionRefusedError, NothingServedError
from espalier.paths import JSON

MAX_REFUSED_IN_A_ROW = 100
"""So many objects a version does not show before it is not asked any more."""

NO_OBJECTS = ObjectPage(objects=(), continue_token=None, remaining=None, resource_version="")


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
        uncompared: Objects that a further version does not show, with the reason.
        refused_at: These versions.

    Raises:
        NothingServedError: No version is served.
        NoStorageVersionError: Not exactly one version is marked.
    """

    def __init__(
        self,
        definition: Definition,
        objects: Objects,
        page_size: int,
        *,
        workers: Workers | None = None,
    ) -> None:
        served = [version for version in definition.versions if version.served]
        storage = definition.storage
        if not served:
            raise NothingServedError(definition.name, storage.name)
        self._objects = objects
        self._page_size = page_size
        self.resource = resource_of(definition, storage if storage.served else served[0])
        further = [name for name in definition.stored_versions if name != self.resource.version]
        self.comparisons = [
            Comparison(objects, resource_of(definition, version), self.resource, workers=workers)
            for version in served
            if storage.served and version.name in further
        ]
        self.uncompared: dict[str, None] = {}
        self.refused_at: set[str] = set()
        self._refused_in_a_row: dict[str, int] = {}
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
        async def at(version: Endpoint) -> ObjectPage:
            return await self._objects.list_objects(
                version,
                page_size=page_size,
                continue_token=continue_token,
                namespace=namespace,
            )

        first = await at(resource)
        others = [await self._other(first, one.resource, at) for one in self.comparisons]
        return Pages(first, others)

    async def _other(
        self,
        first: ObjectPage,
        resource: Endpoint,
        at: Callable[[Endpoint], Awaitable[ObjectPage]],
    ) -> ObjectPage:
        """
        List a page at a further version, and leave out of it an object that is not shown there.
        """
        name = resource.version
        if self._refused_in_a_row.get(name, 0) >= MAX_REFUSED_IN_A_ROW:
            return NO_OBJECTS
        try:
            page = await at(resource)
        except NOT_SHOWN as error:
            self.refused_at.add(name)
            refused = as_refused(error) if isinstance(error, ConversionError) else error
            if len(first.objects) > 1:
                # The page is made smaller, until it is one object.
                raise refused from None
            reason = f" ({refused.detail})" if isinstance(refused, ConversionRefusedError) else ""
            self.uncompared.update({f"{key_of(obj)}{reason}": None for obj in first.objects})
            self._refused_in_a_row[name] = self._refused_in_a_row.get(name, 0) + 1
            if self._refused_in_a_row[name] == MAX_REFUSED_IN_A_ROW:
                self.uncompared[f"further objects at {name}"] = None
            return NO_OBJECTS
        self._refused_in_a_row[name] = 0
        return page

    async def compare(self, page: Pages) -> None:
        """
        Compare what each version shows with what the storage version does.
        """
        for comparison, other in zip(self.comparisons, page.others, strict=True):
            if other is NO_OBJECTS:
                comparison.leave_out(page.first.objects)
            else:
                await comparison.compare(page.first.objects, other.objects)
