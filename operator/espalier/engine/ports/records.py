"""
Stored objects, and pages of them, as the ports speak of them.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import orjson

from espalier.crd import Definition, Version
from espalier.paths import JSON


class ObjectKey(NamedTuple):
    """
    The name of one stored object within its resource; the namespace is empty if it has none.
    """

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def key_of(obj: Mapping[str, JSON]) -> ObjectKey:
    """
    Read the namespace and the name of a whole object.
    """
    metadata = obj.get("metadata")
    held = metadata if isinstance(metadata, dict) else {}
    return ObjectKey(text_of(held.get("namespace")), text_of(held.get("name")))


def text_of(value: JSON) -> str:
    """
    Take a value that is to be a text, or nothing if it is something else, however deep.
    """
    return value if isinstance(value, str) else ""


class Endpoint(NamedTuple):
    """
    One endpoint of custom objects: a resource at one version. It is looked up for each write.

    Attributes:
        plural: As in URLs and RBAC.
    """

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        """
        As in an object's ``apiVersion``: ``example.com/v1``.
        """
        return f"{self.group}/{self.version}"

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMetadata:
    """
    What a metadata-only page holds of one stored object.

    Attributes:
        generation: 0 if it is not known.
        tags: Stands for the labels, annotations and finalizers, and is compared with another read
            of this process only; None if it is not known.
        created_at: ``metadata.creationTimestamp``, RFC 3339; empty if it is not there.
        managed_fields: The decoded entries of ``metadata.managedFields``; may be empty.
    """

    key: ObjectKey
    uid: str
    resource_version: str
    created_at: str = ""
    managed_fields: tuple[JSON, ...] = field(default=(), hash=False)
    generation: int = 0
    tags: int | None = field(default=None, compare=False)


class Written(NamedTuple):
    """
    The answer of a rewrite.

    Attributes:
        resource_version: Afterwards.
        metadata: Afterwards; None if the stored bytes were right already.
    """

    resource_version: str
    metadata: StoredMetadata | None = None


def metadata_of(obj: Mapping[str, JSON]) -> StoredMetadata:
    """
    Keep of a whole object what a metadata-only page holds of it.
    """
    metadata = obj.get("metadata")
    held = metadata if isinstance(metadata, dict) else {}
    managed = held.get("managedFields")
    generation = held.get("generation")
    return StoredMetadata(
        key=key_of(obj),
        uid=text_of(held.get("uid")),
        resource_version=text_of(held.get("resourceVersion")),
        created_at=text_of(held.get("creationTimestamp")),
        managed_fields=tuple(managed) if isinstance(managed, list) else (),
        generation=generation if isinstance(generation, int) else 0,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataPage:
    """
    One page of a metadata-only list.

    Attributes:
        continue_token: Asks for the next page; None after the last one.
        remaining: How many objects follow, if the server reported it.
        resource_version: That of the list.
        unread: Names of further objects in it that could not be decoded.
    """

    objects: tuple[StoredMetadata, ...]
    continue_token: str | None
    remaining: int | None
    resource_version: str
    unread: Collection[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectPage:
    """
    One page of whole objects, decoded one at a time while the caller iterates.

    Attributes:
        objects: Decoded JSON objects with apiVersion and kind set.
        unread: Names of further objects in it that could not be decoded, as far as the
            caller iterated.
    """

    objects: Sequence[dict[str, JSON]]
    continue_token: str | None
    remaining: int | None
    resource_version: str
    unread: Collection[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchEvent:
    """
    One change of an object.

    Attributes:
        type: ``ADDED``, ``MODIFIED``, ``DELETED`` or ``BOOKMARK``.
        object: The whole object; for a bookmark only its resource version is set.
        resource_version: Where a later watch may start.
    """

    type: str
    object: dict[str, JSON]
    resource_version: str


class Identity(NamedTuple):
    """
    Which object, and which state of it.
    """

    uid: str
    resource_version: str

    @property
    def is_whole(self) -> bool:
        """
        Whether a write can be guarded by it.
        """
        return bool(self.uid and self.resource_version)


def identity_of(obj: dict[str, JSON]) -> Identity:
    """
    Read the uid and the resource version of a whole object.
    """
    metadata = obj.get("metadata")
    held = metadata if isinstance(metadata, dict) else {}
    return Identity(text_of(held.get("uid")), text_of(held.get("resourceVersion")))


def state_of(obj: Mapping[str, JSON]) -> str:
    """
    Identify an object and the state of its specification, as far as its generation shows it.
    """
    metadata = obj.get("metadata")
    held = metadata if isinstance(metadata, dict) else {}
    generation = held.get("generation")
    number = generation if isinstance(generation, int) else 0
    return f"{text_of(held.get('uid')) or key_of(obj)} {number}"


def always() -> bool:
    """
    Stand in for a check where nothing can forbid a write.
    """
    return True


class WritePermit(NamedTuple):
    """
    The permission to write one object in the state that was looked at.

    Only ``espalier.engine.coordination.write_gate`` makes them.

    Attributes:
        resource_version: Of the state; None permits the write of whatever the object is by then.
        may_begin: Reports whether the permit still holds; asked right before the write is sent.
    """

    key: ObjectKey
    uid: str
    resource_version: str | None
    may_begin: Callable[[], bool] = always


def size_of(obj: dict[str, JSON]) -> int | None:
    """
    Measure an object as it is sent, in bytes; None if it is nested too deeply.
    """
    try:
        return len(orjson.dumps(obj))
    except orjson.JSONEncodeError:
        return None


def resource_of(definition: Definition, version: Version) -> Endpoint:
    """
    Name the endpoint of a definition's objects at a version.
    """
    return Endpoint(
        group=definition.group,
        version=version.name,
        plural=definition.plural,
        kind=definition.kind,
        namespaced=definition.namespaced,
    )
