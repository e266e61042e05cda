"""
What each served version shows of one object, before it is rewritten and after that.

At the storage version the object must show afterwards what it showed before, in normal form. At an
older version it may lack what the comparison before the write had found lacking at the storage
version: a conversion may drop that, and it was reported. Anything else is lost by the write itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from espalier.engine.conversion.lost_paths import lost_paths
from espalier.engine.listing.conversions import NOT_SHOWN
from espalier.engine.ports import Endpoint, StoredMetadata
from espalier.engine.ports.objects import Objects
from espalier.engine.ports.records import identity_of, size_of
from espalier.engine.status.path_counts import general
from espalier.errors import MalformedValueError, NotFoundError, RejectedError
from espalier.paths import JSON, Path, render_pointer
from espalier.schema import Normalizer

MAX_BYTES = 256 * 1024
"""Of an object: it is compared in the event loop, and any smaller one will do."""

_SET_BY_A_WRITE = frozenset({"resourceVersion", "generation"})

_NOT_ARCHIVED = frozenset({"apiVersion", "kind", "metadata"})

_OF_METADATA = ("labels", "annotations")


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectViews:
    """
    One state of an object as several versions show it.

    Attributes:
        seen: That state.
        storage: As the storage version shows it.
        older: As each further version does; one that does not show it is left out.
    """

    seen: StoredMetadata
    storage: dict[str, JSON]
    older: Mapping[str, dict[str, JSON]]


async def read_views(
    objects: Objects, storage: Endpoint, older: Sequence[Endpoint], seen: StoredMetadata
) -> ObjectViews | None:
    """
    Read an object at several versions; None if it is gone, too large, or was written meanwhile.

    Raises:
        ClusterError: It cannot be read now.
    """
    try:
        at_storage = await objects.get_object(storage, seen.key)
    except (*NOT_SHOWN, NotFoundError, RejectedError):
        return None
    identity = (seen.uid, seen.resource_version)
    size_bytes = size_of(at_storage)
    if identity_of(at_storage) != identity or size_bytes is None or size_bytes > MAX_BYTES:
        return None
    shown = {}
    for resource in older:
        try:
            obj = await objects.get_object(resource, seen.key)
        except NotFoundError as error:
            if error.is_object:
                return None
        except (*NOT_SHOWN, RejectedError):
            continue
        else:
            if identity_of(obj) != identity:
                return None
            shown[resource.version] = obj
    return ObjectViews(seen=seen, storage=at_storage, older=shown)


def lost_by_write(
    version: str, before: ObjectViews, after: ObjectViews, normalizer: Normalizer
) -> frozenset[str]:
    """
    Name what an object has lost by its rewrite: ``v1.spec.size``, the version and the path.

    Args:
        version: The storage version.
        normalizer: Its.
    """
    try:
        normal = normalizer(before.storage).value
    except MalformedValueError:
        normal = before.storage
    kept = normal if isinstance(normal, dict) else before.storage
    items = {version + _dotted(path) for path in _lost(kept, after.storage)}
    for name, shown in before.older.items():
        if name in after.older:
            announced = _lost(shown, before.storage)
            items.update(
                name + _dotted(path)
                for path in _lost(shown, after.older[name])
                if not any(path[: len(one)] == one for one in announced)
            )
    return frozenset(items)


def additions_of(obj: Mapping[str, JSON]) -> tuple[dict[str, JSON], ...]:
    """
    Make the JSON Patch that adds each field of an object, lists as a whole, without its metadata.

    Labels and annotations belong to it all the same.
    """
    parts: list[tuple[tuple[str, ...], JSON]]
    parts = [((name,), value) for name, value in obj.items() if name not in _NOT_ARCHIVED]
    metadata = obj.get("metadata")
    if isinstance(metadata, dict):
        parts += [(("metadata", name), metadata[name]) for name in _OF_METADATA if name in metadata]
    return tuple(
        {"op": "add", "path": render_pointer(path), "value": value}
        for place, part in parts
        for path, value in _leaves(place, part)
    )


def _leaves(place: tuple[str, ...], value: JSON) -> Iterator[tuple[tuple[str, ...], JSON]]:
    waiting = [(place, value)]
    while waiting:
        path, part = waiting.pop()
        if isinstance(part, dict) and part:
            waiting += [((*path, key), part[key]) for key in reversed(part)]
        else:
            yield path, part


def _lost(before: Mapping[str, JSON], after: Mapping[str, JSON]) -> list[Path]:
    return lost_paths(_without_marks(before), _without_marks(after))


def _without_marks(obj: Mapping[str, JSON]) -> dict[str, JSON]:
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        return {**obj}
    left = {name: part for name, part in metadata.items() if name not in _SET_BY_A_WRITE}
    return {**obj, "metadata": left}


def _dotted(path: Path) -> str:
    text = general(path)
    return text if text.startswith("[") else f".{text}"
