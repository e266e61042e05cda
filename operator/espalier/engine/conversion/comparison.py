"""
What does a conversion lose? An object as one version shows it against another version's.

Both must be reads of one state of one object: the same uid and the same resource version. Where
another client writes between two pages they are not; such objects are read again, one by one.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from espalier.engine.conversion.diffs import differences
from espalier.engine.listing.conversions import NOT_SHOWN
from espalier.engine.ports import Endpoint, ObjectKey, key_of
from espalier.engine.ports.objects import Objects
from espalier.engine.ports.records import identity_of
from espalier.engine.status.path_counts import Counter, Counts, general
from espalier.errors import NotFoundError, RejectedError
from espalier.paths import JSON, Path

MAX_ATTEMPTS = 3
"""How often to read an object again that another client keeps writing."""

UNREADABLE = "cannot be read"


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
            them, or since they cannot be read at one of the versions.
    """

    version: str
    compared: int
    lost: Counts
    unsettled: Counts


class Comparison:
    """
    Compares all objects at one version with the same at the storage version.
    """

    def __init__(self, objects: Objects, resource: Endpoint, storage: Endpoint) -> None:
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
                self._add(expected, found)
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
                self._add(expected, found)
                return
        self._unsettled.add(key, ["written again and again"])

    def _add(self, expected: dict[str, JSON], found: dict[str, JSON]) -> None:
        self._compared += 1
        self._lost.add(key_of(expected), map(general, lost_paths(found, expected)))


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


def lost_paths(stored: dict[str, JSON], shown: dict[str, JSON]) -> list[Path]:
    """
    Find the paths of an object that another form of it lacks, or has with another value.
    """
    return [path for path in differences(_content(stored), _content(shown)) if _has(stored, path)]


def _content(obj: dict[str, JSON]) -> dict[str, JSON]:
    content = {name: part for name, part in obj.items() if name not in ("apiVersion", "kind")}
    match content.get("metadata"):
        case dict(metadata):
            content["metadata"] = {
                name: part for name, part in metadata.items() if name != "managedFields"
            }
        case _:
            pass
    return content


def _has(value: JSON, path: Path) -> bool:
    for step in path:
        match value, step:
            case dict(), str() if step in value:
                value = value[step]
            case list(), int() if step < len(value):
                value = value[step]
            case _:
                return False
    return True
