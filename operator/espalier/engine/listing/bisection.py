"""
Where can a list be read again? Found by lists of one object from places of our own making.

A server that cannot read an object, and does not name it, fails every list that has it on its page.
But a continue token can be made for any place, and a list of one object from there shows whether
the first object behind it can be read. All names are printable ASCII, so the name of the first
one that cannot be is found character by character: it lies before a place from which the list
can be read, and behind all places before that.

Where two such objects are near each other, a place between them may lead to the second one. So the
search goes outwards from the last object that was listed, and the server's counts from either side
prove that no object was skipped. Without that proof the result reports that.
"""

from dataclasses import dataclass
from typing import NamedTuple

from espalier.engine.listing.conversions import NOT_SHOWN
from espalier.engine.ports import Endpoint, ObjectKey
from espalier.engine.ports.objects import Objects
from espalier.errors import ForbiddenError, NotFoundError

MAX_NAME_CHARACTERS = 512
"""Of a namespace and a name; they have up to 317."""

MAX_NAMESPACES = 2000
"""In how many the first object is looked for, one after another."""

_FIRST, _LAST = "!", "~"
_PAST = "\x7f"
"""Sorts behind all characters of names, as an object's own end does before them."""

_END = "\0"


class Found(NamedTuple):
    """
    An object that cannot be read.

    Attributes:
        place: As tokens name it, below what is listed.
        others: How many objects lie between it and where the search began; None if that is not
            known.
    """

    place: str
    others: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """
    Looks for the first object behind a place of one list.

    Attributes:
        namespace: That is listed; empty for all.
    """

    objects: Objects
    resource: Endpoint
    namespace: str = ""

    async def first_unreadable(self, place: str, *, behind: int | None) -> Found | None:
        """
        Find the object that makes a list fail.

        Args:
            place: Where the list fails; empty at its beginning.
            behind: How many objects there are from there on, if the server reported it.

        Returns:
            None if it cannot be distinguished from others.

        Raises:
            ClusterError: The server stays busy or away.
        """
        found = await self._nearest(place)
        if found is None:
            return None
        left = await self._count(found + _END)
        # Objects come and go meanwhile; a negative number proves nothing.
        others = behind - 1 - left if behind is not None and left is not None else -1
        if others == 0:
            return Found(found, others)
        in_first = await self._in_first_namespace(place, found)
        return in_first or Found(found, others if others > 0 else None)

    async def _in_first_namespace(self, place: str, found: str) -> Found | None:
        """
        Look for such an object in an earlier namespace, too; None if that cannot be decided.
        """
        if self.namespace or not self.resource.namespaced:
            return None
        try:
            listed = await self.objects.list_namespaces()
        except (ForbiddenError, NotFoundError):
            return None
        between = [name for name in listed if place < f"{name}/{_PAST}" and f"{name}/" < found]
        for name in sorted(between, key=lambda name: f"{name}/")[:MAX_NAMESPACES]:
            within = Search(objects=self.objects, resource=self.resource, namespace=name)
            start = place.removeprefix(f"{name}/") if place.startswith(f"{name}/") else ""
            if await within.is_readable(start):
                continue
            nearest = await within._nearest(start)
            return Found(f"{name}/{nearest}", None) if nearest else None
        return None

    async def is_readable(self, place: str) -> bool:
        """
        Report whether the first object from a place on, if there is one, can be read.
        """
        return await self._count(place) is not None

    async def _nearest(self, place: str) -> str | None:
        """
        Find the object, outwards from the one that was listed last.
        """
        last = place.rstrip(_END)
        for length in range(len(last), -1, -1):
            if await self.is_readable(last[:length] + _PAST):
                # It begins like the last one, up to here, and then goes on with more.
                floor = last[length] if length < len(last) else ""
                return await self._spelled(last[:length], floor)
        return None

    async def _spelled(self, prefix: str, floor: str) -> str | None:
        """
        Find its characters behind a prefix; the first of them sorts behind ``floor``.
        """
        while len(prefix) < MAX_NAME_CHARACTERS:
            prefix += await self._next_character(prefix, floor)
            floor = ""
            if await self.is_readable(prefix + _END) or await self._is_unreadable(prefix):
                return prefix
        return None

    async def _next_character(self, prefix: str, floor: str) -> str:
        low, high = ord(floor) if floor else ord(_FIRST) - 1, ord(_LAST)
        # The nearest ones first, in growing steps: what is far away may be another such object.
        step = 1
        while low + step < high and not await self._is_past(prefix, low + step):
            low, step = low + step, step * 2
        high = min(high, low + step)
        while low + 1 < high:
            middle = (low + high) // 2
            if await self._is_past(prefix, middle):
                high = middle
            else:
                low = middle
        return chr(high)

    async def _is_past(self, prefix: str, code: int) -> bool:
        """
        Report whether all unreadable objects lie before what follows a prefix and a character.
        """
        may_be_slash = prefix and "/" not in prefix and self.resource.namespaced
        if chr(code) == "/" and (self.namespace or not may_be_slash):
            # No name has it there, and servers take no such token.
            code -= 1
        return await self.is_readable(prefix + chr(code) + _PAST)

    async def _is_unreadable(self, place: str) -> bool:
        key = key_of_place(place, self.namespace)
        if (self.resource.namespaced and not key.namespace) or not key.name:
            return False
        try:
            await self.objects.get_object(self.resource, key)
        except NOT_SHOWN:
            return True
        except NotFoundError:
            return False
        return False

    async def _count(self, place: str) -> int | None:
        """
        Count the objects from a place on; None if the first of them cannot be read.
        """
        try:
            page = await self.objects.list_metadata(
                self.resource,
                page_size=1,
                continue_token=self.objects.token_at(place) if place else None,
                namespace=self.namespace,
            )
        except NOT_SHOWN:
            return None
        return len(page.objects) + (page.remaining or 0)


def key_of_place(place: str, namespace: str) -> ObjectKey:
    """
    Read the key of an object from its place in a list of a namespace, or of all.
    """
    before, slash, name = place.partition("/")
    if namespace:
        return ObjectKey(namespace, place)
    return ObjectKey(before, name) if slash else ObjectKey("", place)
