"""
Who looks after an object? Tells those that a GitOps controller would put back as they were.
"""

from collections.abc import Iterable

from espalier.paths import JSON

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


def is_owned(obj: dict[str, JSON]) -> bool:
    """
    Tell whether a GitOps controller manages fields of a whole object.
    """
    metadata = obj.get("metadata")
    entries = metadata.get("managedFields") if isinstance(metadata, dict) else None
    return isinstance(entries, list) and names_owner(entries)


def names_owner(managed_fields: Iterable[JSON]) -> bool:
    """
    Tell whether an entry of ``managedFields`` names a GitOps controller.
    """
    return any(
        isinstance(entry, dict) and entry.get("manager") in GITOPS_MANAGERS
        for entry in managed_fields
    )
