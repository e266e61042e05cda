"""
Which objects GitOps controllers manage, and which field managers have written given fields.
"""

from collections.abc import Iterable
from itertools import islice

from espalier.golang.printing import quote
from espalier.paths import JSON, Path

GITOPS_MANAGERS = frozenset(
    {
        # Argo CD, by server-side apply and by client-side apply.
        "argocd-controller",
        "argocd-application-controller",
        # Flux.
        "kustomize-controller",
        "helm-controller",
    }
)
"""The names by which GitOps controllers stand in ``metadata.managedFields``."""

MAX_PATHS = 100
"""So many fields are looked up; a manager that has written further ones has written these, too."""

MAX_NAME_LENGTH = 128
"""In characters; the API server takes no longer names of managers."""

_ITEMS = ("k:", "v:", "i:")


def is_owned(obj: dict[str, JSON]) -> bool:
    """
    Report whether a GitOps controller manages fields of a whole object.
    """
    metadata = obj.get("metadata")
    entries = metadata.get("managedFields") if isinstance(metadata, dict) else None
    return isinstance(entries, list) and names_owner(entries)


def names_owner(managed_fields: Iterable[JSON]) -> bool:
    """
    Report whether an entry of ``managedFields`` names a GitOps controller.
    """
    return any(
        isinstance(entry, dict) and entry.get("manager") in GITOPS_MANAGERS
        for entry in managed_fields
    )


def entries_at(managed_fields: Iterable[JSON], api_version: str) -> tuple[dict[str, JSON], ...]:
    """
    Return the entries of ``managedFields`` that one version has written.

    Args:
        api_version: The group and the version.
    """
    return tuple(
        entry
        for entry in managed_fields
        if isinstance(entry, dict) and entry.get("apiVersion") == api_version
    )


def managers_of(obj: dict[str, JSON], paths: Iterable[Path]) -> tuple[str, ...]:
    """
    Name the managers that have written any of these fields, by ``metadata.managedFields``.

    The items of a list are not distinguished.

    Returns:
        Names without anything unprintable, each once, in the order of the entries.

    Source:
        structured-merge-diff, ``fieldpath/serialize-pe.go``.
    """
    metadata = obj.get("metadata")
    entries = metadata.get("managedFields") if isinstance(metadata, dict) else None
    looked_at = list(islice(paths, MAX_PATHS))
    names: dict[str, None] = {}
    for entry in entries if isinstance(entries, list) else ():
        match entry:
            case {"manager": str(name), "fieldsV1": dict(fields)} if name:
                if any(_has_written(fields, path) for path in looked_at):
                    names[quote(name[:MAX_NAME_LENGTH])[1:-1]] = None
            case _:
                continue
    return tuple(names)


def _has_written(fields: JSON, path: Path) -> bool:
    nodes = [fields]
    for step in path:
        below = [child for node in nodes for child in _children(node, step)]
        if not below:
            # What is written as a whole has nothing below it.
            return any(node == {} for node in nodes)
        nodes = below
    return True


def _children(node: JSON, step: str | int) -> Iterable[JSON]:
    if not isinstance(node, dict):
        return []
    if isinstance(step, int):
        return [child for key, child in node.items() if key.startswith(_ITEMS)]
    child = node.get(f"f:{step}")
    return [] if child is None else [child]
