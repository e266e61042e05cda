"""
Prune, default or normalise one object, under both profiles.

The object itself is never changed. Each difference becomes a finding with a position.
"""

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from espalier import schema
from espalier.cli.checks.catalogue import Defined, DefinitionCatalogue, display_name
from espalier.cli.input.files import Document
from espalier.cli.result import Finding, Level
from espalier.errors import MalformedValueError, SchemaParseError
from espalier.paths import JSON, Path, render_path
from espalier.schema import Profile
from espalier.schema.requests.creation import Unstored, drop_unstored
from espalier.schema.values import equal_json


class Operation(enum.StrEnum):
    """
    The operation to carry out on objects.
    """

    PRUNE = "prune"
    DEFAULT = "default"
    NORMALIZE = "normalize"


class Transformation(NamedTuple):
    """
    The new value, and the paths that were removed, dropped (nulls) and filled in (defaults).
    """

    value: JSON
    removed: Sequence[Path] = ()
    dropped: Sequence[Path] = ()
    filled: Sequence[Path] = ()

    @property
    def acts(self) -> frozenset[tuple[str, Path]]:
        """
        Everything that was done, as a set of actions and paths.
        """
        done = (("removes", self.removed), ("drops", self.dropped), ("fills in", self.filled))
        return frozenset((act, path) for act, paths in done for path in paths)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transformed:
    """
    One object before and after an operation.

    Attributes:
        value: The new value; the old one itself if nothing was done.
        findings: A note for each change, a warning or an error for what could not be done.
    """

    document: Document
    value: JSON
    findings: tuple[Finding, ...] = ()

    @property
    def is_changed(self) -> bool:
        """
        Whether the new value differs from the old one.
        """
        return not equal_json(self.value, self.document.value)


def transform(
    document: Document, catalogue: DefinitionCatalogue, operation: Operation, profile: Profile
) -> Transformed:
    """
    Carry out an operation on one object.

    An object without a usable schema stays as it is, and gets a finding that says so.
    """
    defined = catalogue.find(document.value)
    if defined is None:
        text = f"no schema for it, so it stays as it is{catalogue.other_versions(document.value)}"
        finding = _finding(document, (), Level.WARNING, f"{operation}/no-schema", text)
        return Transformed(document=document, value=document.value, findings=(finding,))
    try:
        change = _ACTS[operation](document.value, defined, profile)
        different = _differences(document, defined, operation, profile, change)
    except (SchemaParseError, MalformedValueError) as error:
        finding = _finding(document, (), Level.ERROR, f"{operation}/impossible", str(error))
        return Transformed(document=document, value=document.value, findings=(finding,))
    value, unstored = change.value, tuple[Path, ...]()
    if operation is Operation.NORMALIZE and isinstance(value, dict):
        value, unstored = _stored(value, defined)
    findings = [
        *_acts(document, operation, "removed", change.removed),
        *_acts(document, operation, "dropped a null at", change.dropped),
        *_acts(document, operation, "filled in", change.filled),
        *_acts(document, operation, "did not store", unstored),
        *different,
    ]
    if defined.version.schema is None:
        text = f"version {defined.version.name} of {defined.definition.name} has no schema"
        findings.append(_finding(document, (), Level.WARNING, f"{operation}/no-schema", text))
    return Transformed(document=document, value=value, findings=tuple(findings))


def _stored(value: dict[str, JSON], defined: Defined) -> Unstored:
    # An object with a uid was stored before, so its status was written through the subresource.
    match value:
        case {"metadata": {"uid": str()}}:
            drops_status = False
        case _:
            drops_status = defined.version.has_status
    return drop_unstored(
        value, is_namespaced=defined.definition.namespaced, has_status=drops_status
    )


def _prune(value: JSON, defined: Defined, profile: Profile) -> Transformation:
    structural = defined.structural(profile)
    if structural is None:
        # Strictly read, an absent schema specifies no field, and pruning would empty the object.
        return Transformation(value)
    pruned = schema.prune(value, structural, profile=profile)
    return Transformation(pruned.value, removed=pruned.removed)


def _default(value: JSON, defined: Defined, profile: Profile) -> Transformation:
    filled = schema.default(value, defined.structural(profile), profile=profile)
    return Transformation(filled.value, dropped=filled.dropped, filled=filled.filled)


def _normalize(value: JSON, defined: Defined, profile: Profile) -> Transformation:
    structural = defined.structural(profile)
    if structural is None:
        return Transformation(value)
    normal = schema.normalize(
        value,
        structural,
        profile=profile,
        preserve_unknown_fields=defined.definition.preserve_unknown_fields,
    )
    return Transformation(normal.value, normal.removed, normal.dropped, normal.filled)


_ACTS: Mapping[Operation, Callable[[JSON, Defined, Profile], Transformation]] = MappingProxyType(
    {
        Operation.PRUNE: _prune,
        Operation.DEFAULT: _default,
        Operation.NORMALIZE: _normalize,
    }
)


def _acts(
    document: Document, operation: Operation, act: str, paths: Iterable[Path]
) -> list[Finding]:
    rule = f"{operation}/{act.split(maxsplit=1)[0]}"
    return [
        _finding(document, path, Level.NOTE, rule, f"{act} {render_path(path)}") for path in paths
    ]


def _differences(
    document: Document,
    defined: Defined,
    operation: Operation,
    profile: Profile,
    change: Transformation,
) -> list[Finding]:
    other = next(known for known in Profile if known is not profile)
    try:
        acts = _ACTS[operation](document.value, defined, other).acts
    except (SchemaParseError, MalformedValueError) as error:
        text = f"the profiles differ: under {other.value}: {error}"
        return [_finding(document, (), Level.WARNING, f"{operation}/profiles-differ", text)]
    found = []
    for only, changes in ((profile, change.acts - acts), (other, acts - change.acts)):
        for act, path in sorted(changes, key=str):
            text = f"the profiles differ: only {only.value} {act} {render_path(path)}"
            found.append(
                _finding(document, path, Level.WARNING, f"{operation}/profiles-differ", text)
            )
    return found


def _finding(document: Document, path: Path, level: Level, rule: str, text: str) -> Finding:
    return Finding(
        level=level,
        rule=rule,
        subject=document.subject(display_name(document.value), path),
        message=text,
        path=render_path(path) if path else "",
    )
