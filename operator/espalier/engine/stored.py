"""
Stored objects, and pages of them, as the ports speak of them.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """
    One endpoint of custom objects: a resource at one version.

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
        As objects say it: ``example.com/v1``.
        """
        return f"{self.group}/{self.version}"

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMetadata:
    """
    What a metadata-only page says of one stored object.

    Attributes:
        managed_fields: The decoded entries of ``metadata.managedFields``; may be empty.
    """

    key: ObjectKey
    uid: str
    resource_version: str
    managed_fields: tuple[JSON, ...] = field(default=(), hash=False)


def metadata_of(obj: Mapping[str, JSON]) -> StoredMetadata:
    """
    Keep of a whole object what a metadata-only page says of it.
    """
    metadata = obj.get("metadata")
    held = metadata if isinstance(metadata, dict) else {}
    managed = held.get("managedFields")
    return StoredMetadata(
        key=key_of(obj),
        uid=text_of(held.get("uid")),
        resource_version=text_of(held.get("resourceVersion")),
        managed_fields=tuple(managed) if isinstance(managed, list) else (),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataPage:
    """
    One page of a metadata-only list.

    Attributes:
        continue_token: Asks for the next page; None after the last one.
        remaining: How many objects follow, if the server said so.
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
    One page of whole objects, decoded one at a time by whoever iterates.

    Attributes:
        objects: Decoded JSON objects with apiVersion and kind set.
        unread: Names of further objects in it that could not be decoded, as far as somebody
            iterated.
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
