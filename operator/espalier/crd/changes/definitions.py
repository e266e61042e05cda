"""
Changes from one definition to another: of its versions, their schemas and subresources.
"""

from collections.abc import Iterator

from espalier.crd.changes.change import Change
from espalier.crd.changes.schemas import schema_changes
from espalier.crd.definition import Definition, Version
from espalier.crd.structural import structural_of
from espalier.errors import NoStorageVersionError, SchemaParseError
from espalier.paths import Path


def definition_changes(old: Definition, new: Definition) -> Iterator[Change]:
    """
    Yield the changes from one definition to another that stored objects or clients may notice.

    What no API server would accept, such as another scope, is not among them. A version is compared
    with the version of the same name. If the storage version changes and there is no conversion
    webhook, the new one is compared with the old one, too. Schemas that cannot be read are left
    out.
    """
    if old.preserve_unknown_fields and not new.preserve_unknown_fields:
        yield Change(
            kind="pruning-enabled",
            path=("spec", "preserveUnknownFields"),
            version="",
            detail="unknown fields are not preserved any more",
            effect="what no schema specifies is lost from stored objects at their next write",
        )
    versions = {version.name: (index, version) for index, version in enumerate(new.versions)}
    for before in old.versions:
        if before.name in versions:
            index, after = versions[before.name]
            yield from _version_changes(before, after, ("spec", "versions", index))
        elif before.served:
            yield Change(
                kind="version-removed",
                path=("spec", "versions"),
                version=before.name,
                detail=f"version {before.name} removed",
                effect="clients of the version fail; stored objects must be migrated before",
            )
    yield from _storage_changes(old, new)


def _version_changes(old: Version, new: Version, path: Path) -> Iterator[Change]:
    if old.served and not new.served:
        yield Change(
            kind="version-not-served",
            path=(*path, "served"),
            version=new.name,
            detail=f"version {new.name} is not served any more",
            effect="clients of the version fail; stored objects stay as they are",
        )
    yield from _subresources(old, new, path)
    yield from _schemas(old, new, path)


def _subresources(old: Version, new: Version, path: Path) -> Iterator[Change]:
    effects = {
        "status": "writes of an object change either its status or the rest from now on",
        "scale": "clients such as an autoscaler can scale the objects",
    }
    losses = {
        "status": "writes of the status by itself fail with 404",
        "scale": "clients such as an autoscaler fail with 404",
    }
    for name, before, after in (
        ("status", old.has_status, new.has_status),
        ("scale", old.scale is not None, new.scale is not None),
    ):
        if before != after:
            kind = "subresource-added" if after else "subresource-removed"
            yield Change(
                kind=kind,
                path=(*path, "subresources"),
                version=new.name,
                detail=f"subresource {name} {'added' if after else 'removed'}",
                effect=(effects if after else losses)[name],
            )


def _schemas(old: Version, new: Version, path: Path) -> Iterator[Change]:
    try:
        before, after = structural_of(old), structural_of(new)
    except SchemaParseError:
        return
    if before is not None and after is not None:
        below = (*path, "schema", "openAPIV3Schema")
        yield from schema_changes(before, after, below, new.name)


def _storage_changes(old: Definition, new: Definition) -> Iterator[Change]:
    try:
        before, after = old.storage, new.storage
    except NoStorageVersionError:
        return
    if before.name == after.name:
        return
    path: Path = ("spec", "versions", new.versions.index(after))
    yield Change(
        kind="storage-version-changed",
        path=(*path, "storage"),
        version=after.name,
        detail=f"storage version changed from {before.name} to {after.name}",
        effect="stored objects stay at the old version until each of them is rewritten",
    )
    if new.conversion == "None":
        yield from _schemas(before, after, path)
