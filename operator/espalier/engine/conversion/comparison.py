"""
What does a conversion lose? An object as one version shows it against another version's.

Both must be reads of one state of one object: the same uid and the same resource version. Where
another client writes between two pages they are not; such objects are read again, one by one.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from espalier.engine.conversion.lost_paths import PathComparer, PlainComparison
from espalier.engine.listing.conversions import NOT_SHOWN
from espalier.engine.ports import Endpoint, NotComputed, ObjectKey, Workers, key_of
from espalier.engine.ports.objects import Objects
from espalier.engine.ports.records import identity_of
from espalier.engine.status.path_counts import Counter, Counts
from espalier.errors import NotFoundError, RejectedError
from espalier.paths import JSON

MAX_ATTEMPTS = 3
"""How often to read an object again that another client keeps writing."""

UNREADABLE = "cannot be read"

MORE_PATHS = "more paths"
"""Stands for those of one object beyond ``MAX_PATHS``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionLoss:
    """
    What reads of one version show that reads of the storage version do not.

    Attributes:
        version: A version at which objects may be stored.
        compared: How many objects were compared.
        lost: Paths that the storage version lacks, or shows with another value. Where a webhook
            converts, what it renames looks lost.
        unsettled: Objects that could not be compared, since another client kept writing
            them, since they cannot be read at one of the versions, or since that takes too long.
    """

    version: str
    compared: int
    lost: Counts
    unsettled: Counts


class Comparison:
    """
    Compares all objects at one version with the same at the storage version.

    Args:
        workers: Compare large objects; None to do all in the event loop.
    """

    def __init__(
        self,
        objects: Objects,
        resource: Endpoint,
        storage: Endpoint,
        *,
        workers: Workers | None = None,
    ) -> None:
        self._comparer = PathComparer(PlainComparison(), workers)
        self.resource = resource
        self._storage = storage
        self._objects = objects
        self._compared = 0
        self._lost = Counter()
        self._unsettled = Counter()

    async def compare(
        self, storage_page: Sequence[dict[str, JSON]], page: Sequence[dict[str, JSON]]
    ) -> None:
        """
        Take a page of each into account; both are sorted as the server sorts them.

        Raises:
            ClusterError: The server is busy or away.
        """
        for expected, found in paired(storage_page, page):
            await asyncio.sleep(0)
            if identity_of(expected) == identity_of(found):
                await self._add(expected, found)
            else:
                await self._read_again(key_of(expected))

    def leave_out(self, storage_page: Sequence[dict[str, JSON]]) -> None:
        """
        Count objects that the version does not show.
        """
        for obj in storage_page:
            self._unsettled.add(key_of(obj), [UNREADABLE])

    def loss(self) -> ConversionLoss:
        """
        Return what was found.
        """
        return ConversionLoss(
            version=self.resource.version,
            compared=self._compared,
            lost=self._lost.counts(),
            unsettled=self._unsettled.counts(),
        )

    async def _read_again(self, key: ObjectKey) -> None:
        for _ in range(MAX_ATTEMPTS):
            try:
                expected = await self._objects.get_object(self._storage, key)
                found = await self._objects.get_object(self.resource, key)
            except NotFoundError:
                return
            except (*NOT_SHOWN, RejectedError):
                self._unsettled.add(key, [UNREADABLE])
                return
            if identity_of(expected) == identity_of(found):
                await self._add(expected, found)
                return
        self._unsettled.add(key, ["written again and again"])

    async def _add(self, expected: dict[str, JSON], found: dict[str, JSON]) -> None:
        lost = await self._comparer.lost(found, expected)
        if isinstance(lost, NotComputed):
            self._unsettled.add(key_of(expected), [lost.reason])
            return
        self._compared += 1
        # One more than is kept shows that there were more.
        more = [MORE_PATHS] * lost.is_cut
        self._lost.add(key_of(expected), [*lost.paths, *more])


_NOTHING: dict[str, JSON] = {}


def paired(
    storage_page: Sequence[dict[str, JSON]], page: Sequence[dict[str, JSON]]
) -> Iterator[tuple[dict[str, JSON], dict[str, JSON]]]:
    """
    Go through two pages side by side, with one object of each in memory.

    Yields:
        Each object of the first page with that of the same name, or with an empty one.
    """
    others = iter(page)
    other = next(others, None)
    for expected in storage_page:
        key = str(key_of(expected))
        while other is not None and str(key_of(other)) < key:
            other = next(others, None)
        if other is not None and str(key_of(other)) == key:
            yield expected, other
            other = next(others, None)
        else:
            yield expected, _NOTHING
