"""
Objects that cannot be read: which ones they are, and how lists get past them.

The API server may be unable to decode what is stored, or a conversion webhook may refuse an object.
One such object makes every list fail that has it on its page. So pages are made smaller until the
page is that object alone. Where the server does not name it, another version may still show it;
otherwise it is searched for, with tokens of our own. The list goes on right behind it.
"""

import re
from collections.abc import Iterable

from espalier.crd import Definition
from espalier.engine.listing.bisection import Search, key_of_place
from espalier.engine.listing.conversions import NOT_SHOWN, ConversionProbe, as_refused
from espalier.engine.ports import ObjectKey
from espalier.engine.ports.objects import Objects
from espalier.errors import ConversionError, ConversionRefusedError, NotFoundError, UndecodableError

NOT_IN_THE_DEFINITION = ", which is not in spec.versions"
"""Says of an object why the server cannot read it."""

_UNKNOWN_VERSION = re.compile(
    r"convert CR from an invalid group/version: [a-z0-9.-]{1,253}/([a-z0-9]{1,63})", re.ASCII
)

SHRINKING = 4
"""By how much a page is made smaller, and larger again when it is past the object."""

MAX_SEARCHES = 1000
"""How many objects to search for that no error names; each search takes dozens of requests."""


class UndecodableSkipper:
    """
    Keeps the names of what was passed over.

    Args:
        definition: Whose objects they are; one version of it, at least, is served.
        probe: Shared by all that work on these objects, since it remembers what it has found.
    """

    def __init__(
        self, objects: Objects, definition: Definition, probe: ConversionProbe | None = None
    ) -> None:
        self._objects = objects
        self._probe = ConversionProbe(objects, definition) if probe is None else probe
        # Lists are made at the storage version, wherever that is served.
        self._resources = self._probe.resources
        self._names: dict[str, None] = {}
        self._searches = 0

    @property
    def names(self) -> tuple[str, ...]:
        """
        The objects that cannot be read, with the reason where it is another one than their bytes.
        """
        return tuple(self._names)

    def note(self, names: Iterable[str]) -> None:
        """
        Record objects that were listed, but that could not be decoded here.
        """
        self._names.update(dict.fromkeys(names))

    async def is_about_one(
        self, error: UndecodableError | ConversionError, *, namespace: str, token: str | None
    ) -> bool:
        """
        Report whether a list fails because of single objects, and not of a webhook that is away.

        Args:
            namespace: The one that is listed; empty for all.
            token: The continue token of the page that failed; None for the first one.
        """
        place = (self._objects.place_of(token) if token else None) or ""
        if not place and len(self._resources) == 1:
            # No other version shows what the first object is.
            search = Search(objects=self._objects, resource=self._resources[0], namespace=namespace)
            found = await search.first_unreadable("", behind=None)
            place = found.place if found else ""
        return await self._probe.is_about_one(error, place, namespace=namespace)

    async def token_behind(
        self,
        error: UndecodableError | ConversionError,
        *,
        namespace: str,
        token: str | None,
        behind: int | None,
    ) -> str | None:
        """
        Record the one object of a page, and return where the list goes on.

        Args:
            namespace: The one that is listed; empty for all.
            token: The continue token of that page; None for the first one.
            behind: How many objects there are from there on, if the server reported it.

        Returns:
            A continue token; None if it is not known what comes next, so that the list ends here.

        Raises:
            ClusterError: The server stays busy or away.
        """
        error = as_refused(error) if isinstance(error, ConversionError) else error
        key = key_of_storage_key(error.keys[0]) if error.keys else None
        if key is None:
            key = await self._shown_elsewhere(namespace, token)
        if key is not None:
            self._note_one(str(key), error)
            next_token = self._objects.token_at(_place_behind(key, namespace))
            if next_token != token:
                return next_token
            self.note([f"whatever comes behind {key}"])
            return None
        return await self._token_behind_unnamed(error, namespace, token, behind)

    async def _shown_elsewhere(self, namespace: str, token: str | None) -> ObjectKey | None:
        """
        Name the first object by another version: what is stored at it is not converted.
        """
        for resource in self._resources:
            try:
                page = await self._objects.list_metadata(
                    resource, page_size=1, continue_token=token, namespace=namespace
                )
            except (*NOT_SHOWN, NotFoundError):
                continue
            return next((metadata.key for metadata in page.objects), None)
        return None

    async def _token_behind_unnamed(
        self, error: UndecodableError, namespace: str, token: str | None, behind: int | None
    ) -> str | None:
        place = self._objects.place_of(token) if token else ""
        last = (place or "").rstrip("\0")
        after = f"the one after {last}" if last else "the first one"
        where = after + (f" in {namespace}" if namespace else "")
        self._searches += 1
        found = None
        if place is not None and self._searches <= MAX_SEARCHES:
            search = Search(objects=self._objects, resource=self._resources[0], namespace=namespace)
            found = await search.first_unreadable(place, behind=behind)
        if found is None:
            self._note_one(where, error)
            self.note([f"whatever comes behind {where}"])
            return None
        key = key_of_place(found.place, namespace)
        others = "any others" if found.others is None else f"{found.others} more"
        also = f", and {others} from {where} up to it" if found.others != 0 else ""
        self._note_one(f"{key}{also}", error)
        return self._objects.token_at(_place_behind(key, namespace))

    def _note_one(self, name: str, error: UndecodableError) -> None:
        version = unknown_version_in(error)
        if isinstance(error, ConversionRefusedError):
            name = f"{name} ({error.detail})"
        elif version:
            name = f"{name} (stored at {version}{NOT_IN_THE_DEFINITION})"
        self.note([name])


def unknown_version_in(error: UndecodableError) -> str:
    """
    Return the version at which an object is stored and that its definition lacks; may be empty.
    """
    found = _UNKNOWN_VERSION.search(error.detail)
    return found[1] if found else ""


def _place_behind(key: ObjectKey, namespace: str) -> str:
    return f"{key.name if namespace else key}\0"


def key_of_storage_key(text: str) -> ObjectKey | None:
    """
    Read the key of an object in etcd: ``/GROUP/PLURAL/NAMESPACE/NAME``, or without the namespace.
    """
    parts = text.strip("/").split("/")
    match parts[2:]:
        case [name] if name:
            return ObjectKey("", name)
        case [namespace, name] if namespace and name:
            return ObjectKey(namespace, name)
        case _:
            return None
