"""
The changes that an API server makes to an object of a create request before it checks it.
"""

from typing import NamedTuple

from espalier.golang.utf8 import bytes_of_text, text_of_bytes
from espalier.paths import JSON, Path

_SUFFIX = "xxxxx"
_MAX_PREFIX_BYTES = 58
# A create sets these itself, whatever the client sends.
_OWN_FIELDS = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
)


class Unstored(NamedTuple):
    """
    An object without the fields that a create does not store, and the paths of those fields.
    """

    value: dict[str, JSON]
    removed: tuple[Path, ...] = ()


def drop_unstored(obj: dict[str, JSON], *, is_namespaced: bool, has_status: bool) -> Unstored:
    """
    Drop the fields that a create request does not store.

    These are the status if the ``status`` subresource is on, and the namespace of a cluster-scoped
    object.

    Args:
        obj: In normal form; never changed.

    Source:
        apiextensions-apiserver, ``pkg/registry/customresource/strategy.go``, ``PrepareForCreate``;
        apiserver, ``pkg/registry/rest/meta.go``, ``EnsureObjectNamespaceMatchesRequestNamespace``.
    """
    kept, removed = obj, list[Path]()
    if has_status and "status" in kept:
        kept = {name: member for name, member in kept.items() if name != "status"}
        removed.append(("status",))
    metadata = kept.get("metadata")
    if not is_namespaced and isinstance(metadata, dict) and "namespace" in metadata:
        rest = {name: member for name, member in metadata.items() if name != "namespace"}
        kept = {**kept, "metadata": rest}
        removed.append(("metadata", "namespace"))
    return Unstored(kept, tuple(removed))


def place(obj: dict[str, JSON], *, is_namespaced: bool, namespace: str) -> dict[str, JSON]:
    """
    Give an object the namespace of its request, and a name if it has only ``generateName``.

    Args:
        obj: In normal form; never changed.
        namespace: The namespace of the request; an object without a namespace is put into it.

    Source:
        apiserver, ``pkg/registry/rest/meta.go``, ``EnsureObjectNamespaceMatchesRequestNamespace``,
        and ``pkg/storage/names/generate.go``.
    """
    placed = drop_unstored(obj, is_namespaced=is_namespaced, has_status=False).value
    given = placed.get("metadata", {})
    if not isinstance(given, dict):
        return placed
    metadata = dict(given)
    if is_namespaced and not metadata.get("namespace"):
        metadata["namespace"] = namespace
    prefix = metadata.get("generateName")
    if isinstance(prefix, str) and prefix and not metadata.get("name"):
        cut = text_of_bytes(bytes_of_text(prefix)[:_MAX_PREFIX_BYTES])
        metadata["name"] = f"{cut}{_SUFFIX}"
    return {**placed, "metadata": metadata}


def prepare_creation(
    obj: dict[str, JSON], *, is_namespaced: bool, has_status: bool, namespace: str
) -> dict[str, JSON]:
    """
    Return an object as an API server prepares it for its creation, before it checks it.

    Args:
        obj: In normal form; never changed.
        namespace: The namespace of the request; an object without a namespace is put into it.

    Returns:
        The object as ``place`` returns it, without the metadata that a create sets itself, and
        without what ``drop_unstored`` drops.

    Source:
        apiserver, ``pkg/endpoints/handlers/create.go``, and ``pkg/registry/rest/create.go``,
        ``BeforeCreate``.
    """
    stored = drop_unstored(obj, is_namespaced=is_namespaced, has_status=has_status).value
    placed = place(stored, is_namespaced=is_namespaced, namespace=namespace)
    given = placed.get("metadata")
    if not isinstance(given, dict):
        return placed
    metadata = {name: member for name, member in given.items() if name not in _OWN_FIELDS}
    return {**placed, "metadata": metadata}
