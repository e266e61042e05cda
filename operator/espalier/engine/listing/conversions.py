"""
Does a conversion webhook convert anything now, or does it refuse one object only?

The answer of a server does not show that: its text is the webhook's. So other objects are asked
for, of other namespaces and of places far behind the one that failed. An object that can be read at
two versions is converted to one of them, and then the failure is about the object alone. Where one
version only is served no read proves a conversion; an object that can be read counts then, but not
for ever.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from itertools import islice

from espalier.crd import Definition
from espalier.engine.ports import Endpoint, ObjectKey
from espalier.engine.ports.objects import Objects
from espalier.engine.ports.records import resource_of
from espalier.errors import (
    ClusterError,
    ConversionError,
    ConversionRefusedError,
    NotFoundError,
    TransientError,
    UndecodableError,
)

NOT_SHOWN = (UndecodableError, ConversionError)
"""What the read of an object fails with if it cannot be decoded or converted."""

FAILURES_PER_PROOF = 10
"""So many refusals one converted object excuses, before another one is asked for."""

MAX_UNPROVED = 1000
"""How many refusals are excused, where it cannot be proved that an object was converted."""

MAX_ASKED = 30
MAX_SILENT = 8
"""How many objects are asked for, and how many of these may get no answer at all."""

ASK_SECONDS = 10.0
"""
For so long others are asked for. A server calls a webhook that fails several times, some seconds in
all, for each object.
"""

MAX_REMEMBERED = 5
MAX_PLACES = 60
MAX_ROUNDS = 3
PAGE_SIZE = 500
MAX_OF_PAGE = 10
MAX_NAMESPACES = 10

_PAST = "\x7f"
"""Sorts behind all characters of names."""

_STEPS = (16, 9, 8, 7, 6, 5, 4, 3, 2, 1)
"""How far behind the character of a name other names are looked for, the farthest first."""


class ConversionProbe:
    """
    Reports whether the failed conversion of an object concerns that object alone.

    Attributes:
        refused_at: Versions other than the storage version at which an object could not be shown.
    """

    def __init__(self, objects: Objects, definition: Definition) -> None:
        storage = definition.storage
        versions = sorted(definition.versions, key=lambda version: version.name != storage.name)
        self.resources = [resource_of(definition, one) for one in versions if one.served]
        self.refused_at: set[str] = set()
        self._storage = storage.name
        self._objects = objects
        self._namespaced = definition.namespaced
        self._converted: dict[ObjectKey, None] = {}
        self._excused = 0
        self._unproved = 0
        self._asking = asyncio.Lock()

    def note_refused(self, resource: Endpoint) -> None:
        """
        Record that an object cannot be shown at a version.
        """
        if resource.version != self._storage:
            self.refused_at.add(resource.version)

    def note_converted(self, key: ObjectKey) -> None:
        """
        Record an object that was shown at two versions just now.
        """
        self._converted.pop(key, None)
        self._converted[key] = None
        while len(self._converted) > MAX_REMEMBERED:
            del self._converted[next(iter(self._converted))]

    async def is_about_one(
        self, error: ClusterError, place: str = "", *, namespace: str = ""
    ) -> bool:
        """
        Report whether others are converted, so that a failure concerns one object alone.

        Args:
            error: Any but those of a conversion concerns its object alone.
            place: The object's, or where the list that failed goes on: ``namespace/name``.
            namespace: The one that is listed, so that the place is a name in it.
        """
        if not isinstance(error, ConversionRefusedError | ConversionError):
            return True
        async with self._asking:
            if self._excused > 0 and isinstance(error, ConversionRefusedError):
                self._excused -= 1
                return True
            if not await self._find_in_time(place.rstrip("\0"), namespace):
                return False
            self._excused = FAILURES_PER_PROOF
            if len(self.resources) == 1:
                self._unproved += 1 if isinstance(error, ConversionError) else self._excused
            return self._unproved <= MAX_UNPROVED

    async def check_alone(self, error: ConversionError, key: ObjectKey) -> ConversionRefusedError:
        """
        Make the failed conversion of one object an error of that object.

        Raises:
            ConversionError: It is not: the webhook converts nothing.
        """
        if await self.is_about_one(error, str(key)):
            return as_refused(error)
        raise error

    async def _find_in_time(self, place: str, namespace: str) -> bool:
        try:
            async with asyncio.timeout(ASK_SECONDS):
                return await self._find_converted(place, namespace)
        except TimeoutError:
            return False

    async def _find_converted(self, place: str, namespace: str) -> bool:
        asked: set[ObjectKey] = set()
        silent = 0
        async for key in self._candidates(place, namespace, asked):
            if key in asked or str(key) == place:
                continue
            asked.add(key)
            shown, unanswered = await self._read(key)
            if shown >= min(len(self.resources), 2):
                self.note_converted(key)
                return True
            silent += unanswered
            if len(asked) >= MAX_ASKED or silent >= MAX_SILENT:
                return False
        return False

    async def _read(self, key: ObjectKey) -> tuple[int, bool]:
        """
        Count the versions that show an object; report also whether there was no answer.
        """
        shown, unanswered = 0, False
        for resource in self.resources:
            try:
                await self._objects.get_object(resource, key)
            except NotFoundError as error:
                if error.is_object:
                    break
            except ClusterError as error:
                unanswered = unanswered or isinstance(error, TransientError)
            else:
                shown += 1
                if shown == 2:  # noqa: PLR2004 - one of two is not what is stored
                    break
        return shown, unanswered

    async def _candidates(
        self, place: str, namespace: str, asked: Collection[ObjectKey]
    ) -> AsyncIterator[ObjectKey]:
        """
        Name other objects: the last ones that were converted, then such as are far from a place.

        Args:
            asked: Those that were of no use; it is added to meanwhile.
        """
        for key in [*reversed(self._converted)]:
            yield key
        for other in await self._other_namespaces(place, namespace):
            async for key in self._first_ones("", other):
                yield key
        async for key in self._first_ones("", namespace):
            place = place or _place_of(key, namespace)
            yield key
        async for key in self._of_page_behind(place, namespace):
            yield key
        async for key in self._far_ones(place, namespace, asked):
            yield key

    async def _far_ones(
        self, place: str, namespace: str, asked: Collection[ObjectKey]
    ) -> AsyncIterator[ObjectKey]:
        """
        Name objects at other places of the list.
        """
        seen: set[str] = set()
        is_within = bool(namespace) or not self._namespaced
        for _ in range(MAX_ROUNDS):
            for start in islice(_places_behind(place, is_within=is_within), MAX_PLACES):
                if start not in seen:
                    seen.add(start)
                    async for key in self._first_ones(start, namespace):
                        yield key
            # Behind the last one that was found: the next names may differ in other characters.
            last = max((_place_of(key, namespace) for key in asked), default="")
            if last <= place:
                return
            place = last

    async def _other_namespaces(self, place: str, namespace: str) -> Sequence[str]:
        if namespace or not self._namespaced:
            return ()
        try:
            listed = await self._objects.list_namespaces()
        except ClusterError:
            return ()
        others = sorted(name for name in listed if name != place.partition("/")[0])
        return others[:: max(1, len(others) // MAX_NAMESPACES)][:MAX_NAMESPACES]

    async def _of_page_behind(self, place: str, namespace: str) -> AsyncIterator[ObjectKey]:
        """
        Name objects of a page behind a place, the last ones first, if a version shows it whole.
        """
        token = self._objects.token_at(f"{place}\0") if place else None
        for resource in self.resources:
            try:
                page = await self._objects.list_metadata(
                    resource, page_size=PAGE_SIZE, continue_token=token, namespace=namespace
                )
            except ClusterError:
                continue
            keys = [metadata.key for metadata in page.objects]
            for key in keys[:: -max(1, len(keys) // MAX_OF_PAGE)]:
                yield key
            return

    async def _first_ones(self, start: str, namespace: str) -> AsyncIterator[ObjectKey]:
        """
        Name the first object from a place on, by each version that shows it.
        """
        token = self._objects.token_at(start) if start else None
        for resource in self.resources:
            try:
                page = await self._objects.list_metadata(
                    resource, page_size=1, continue_token=token, namespace=namespace
                )
            except ClusterError:
                continue
            for metadata in page.objects:
                yield metadata.key


def _place_of(key: ObjectKey, namespace: str) -> str:
    return key.name if namespace else str(key)


def _places_behind(place: str, *, is_within: bool) -> Iterator[str]:
    """
    Name places behind one, those that share least with it among the first.

    Args:
        is_within: The place is a name, without a namespace before it.
    """
    floor = 0 if is_within else place.find("/") + 1
    lengths = [length for length in range(len(place)) if place[length] != "/"]
    # Numbers stand at the end of names: what is near in one place of a number is far in another.
    yield from (place[:length] + _PAST for length in _from_both_ends(lengths))
    for length in (length for length in lengths if length >= floor):
        codes = (ord(place[length]) + step for step in _STEPS)
        yield from (place[:length] + chr(code) for code in codes if _is_of_names(code))


def _from_both_ends(lengths: Sequence[int]) -> Iterator[int]:
    half = (len(lengths) + 1) // 2
    for first, last in zip(lengths[:half], reversed(lengths), strict=False):
        yield first
        if last != first:
            yield last


def _is_of_names(code: int) -> bool:
    return code < ord(_PAST) and chr(code) not in "./"


def as_unavailable(error: UndecodableError | ConversionError) -> ConversionError:
    """
    Take the failure of one conversion for that of a webhook that converts nothing.
    """
    return ConversionError(
        verb=error.verb,
        resource=error.resource,
        status=error.status,
        reason=error.reason,
        detail=error.detail,
    )


def as_refused(error: ConversionError) -> ConversionRefusedError:
    """
    Take the failure of a conversion for one of a single object.
    """
    return ConversionRefusedError(
        verb=error.verb,
        resource=error.resource,
        status=error.status,
        reason=error.reason,
        detail=f"the conversion webhook does not convert it: {error.detail}",
    )
