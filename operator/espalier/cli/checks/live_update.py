"""
Check changed definitions as updates of those in a cluster, before any object is read.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from espalier import crd
from espalier.cli.checks.definition import findings_as_update
from espalier.cli.checks.from_cluster import manifests_of
from espalier.cli.input.files import Document
from espalier.cli.result import Finding, Level
from espalier.cluster import Cluster
from espalier.crd import Definition
from espalier.crd.internal.definition import Internal, read_internal
from espalier.crd.manifest_paths import path_in_manifest
from espalier.crd.validation.accepted_names import name_conflicts
from espalier.errors import ForbiddenError, NotFoundError
from espalier.paths import JSON, render_path

_STORED_VERSIONS = "status.storedVersions"


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateVerdict:
    """
    What an API server would answer to a changed definition.

    Attributes:
        candidate: The changed definition.
        live: The definition in the cluster; None if there is none of this name.
        refusals: The number of reasons for which the server would refuse it.
        findings: The refusals, the names that are in use, and what was no finding before.
        says_nothing_of_objects: Whether it is refused for more than a stored version that is
            dropped, so that no object can be held to it.
    """

    candidate: Definition
    live: Definition | None
    refusals: int
    findings: tuple[Finding, ...]
    says_nothing_of_objects: bool


async def judge_update(connected: Cluster, document: Document) -> UpdateVerdict:
    """
    Check a definition as an update of the one of the same name in the cluster, or as a new one.

    Raises:
        ClusterError: The definition in the cluster could not be read.
        MalformedDefinitionError: The definition is malformed.
    """
    candidate = crd.read_definition(document.value)
    manifest = await _manifest_of(connected, candidate.name)
    refusals, remarks = findings_as_update(document, manifest)
    if manifest is not None:
        known = {(one.rule, one.path, one.message) for one in _remarks_of(manifest)}
        remarks = [one for one in remarks if (one.rule, one.path, one.message) not in known]
    conflicts = await _conflicts(connected, document, candidate, manifest)
    return UpdateVerdict(
        candidate=candidate,
        live=None if manifest is None else crd.read_definition(manifest),
        refusals=len(refusals),
        findings=(*refusals, *conflicts, *remarks),
        says_nothing_of_objects=any(not one.path.startswith(_STORED_VERSIONS) for one in refusals),
    )


async def _manifest_of(connected: Cluster, name: str) -> JSON:
    try:
        return await anext(manifests_of(connected, [name]))
    except NotFoundError:
        return None


def _remarks_of(manifest: JSON) -> list[Finding]:
    document = Document(source="", number=0, value=manifest)
    return findings_as_update(document, manifest)[1]


async def _conflicts(
    connected: Cluster, document: Document, candidate: Definition, manifest: JSON
) -> list[Finding]:
    subject = document.subject(candidate.name)
    if manifest is not None and _has_same_names(document.value, manifest):
        return []
    try:
        group = [one async for one in _group_of(connected, candidate.group)]
    except ForbiddenError as error:
        text = f"names were not compared with those of other definitions: {error}"
        return [Finding(level=Level.NOTE, rule="plan/names", subject=subject, message=text)]
    live = None if manifest is None else read_internal(manifest)
    served = "goes on with its old names" if manifest is not None else "is not served"
    return [
        Finding(
            level=Level.ERROR,
            rule="plan/names",
            subject=document.subject(candidate.name, path_in_manifest(found.path, document.value)),
            message=f"{render_path(found.path)}: the API server does not accept it, and the"
            f" definition {served}: {found}",
            path=render_path(found.path),
            hint="use another name, or delete the definition that has it",
        )
        for found in name_conflicts(read_internal(document.value), live, group)
    ]


def _has_same_names(new: JSON, live: JSON) -> bool:
    return read_internal(new).names == read_internal(live).accepted_names


async def _group_of(connected: Cluster, group: str) -> AsyncIterator[Internal]:
    names = await connected.definitions.definition_names()
    within = [name for name in names if name.partition(".")[2] == group]
    for name in within:
        manifest = await _manifest_of(connected, name)
        if manifest is not None:
            yield read_internal(manifest)
