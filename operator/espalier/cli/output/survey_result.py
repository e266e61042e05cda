"""
Turn surveys into findings, tables and records: counts, paths and names, but never a value.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from espalier.cli.result import Column, Finding, Level, Subject, Table
from espalier.engine import (
    Counts,
    PathCount,
    Survey,
    describe_loss,
    enumerated,
    is_unprovable,
)
from espalier.engine.surveys.size import MAX_REQUEST_BYTES, NEAR, OVER
from espalier.paths import JSON
from espalier.plurals import counted

_BANDS: Mapping[str, str] = {OVER: "larger than", NEAR: "near to"}


class Aspect(NamedTuple):
    """
    One kind of finding of a survey.

    Attributes:
        name: The name in JSON output, and in the rule of the finding.
        text: The message for a path, in the survey of a definition as it is.
        planned: The message for a path, in the plan of a changed definition.
    """

    name: str
    level: Level
    text: str
    planned: str


ASPECTS = (
    Aspect("removed", Level.ERROR, "unknown field, which is lost", "field that is lost"),
    Aspect("pruned", Level.WARNING, "unknown field, which pruning removes and archives", ""),
    Aspect("mistyped", Level.WARNING, "value of the wrong type, which stays", ""),
    Aspect("emptied", Level.ERROR, "would be emptied, so that a migration stops", ""),
    Aspect("malformed", Level.ERROR, "cannot be decoded", "cannot be decoded"),
    Aspect("dropped", Level.NOTE, "null that is dropped", "null that is dropped"),
    Aspect("filled", Level.NOTE, "default that is filled in", "new default"),
    Aspect("violations", Level.ERROR, "invalid", "new violation"),
    Aspect("unwritable", Level.ERROR, "blocked: cannot be updated before it is fixed", "blocked"),
    Aspect("unchecked", Level.NOTE, "rules not checked", "rules not checked"),
)
_OTHERS = ("violations", "unwritable", "unchecked")
LARGE = "large"


def counts_of(found: Survey) -> Mapping[str, Counts]:
    """
    Return the counts of a survey, by the names of ``ASPECTS``.
    """
    counts = {
        aspect.name: getattr(found if aspect.name in _OTHERS else found.normalising, aspect.name)
        for aspect in ASPECTS
    }
    counts[LARGE] = found.large
    # In a legacy definition Espalier prunes, which is counted as ``pruned``, and not the server.
    if found.is_legacy:
        counts["removed"] = Counts()
    return counts


def findings_of(found: Survey, counts: Mapping[str, Counts], *, is_plan: bool) -> Iterator[Finding]:
    """
    Yield the findings of a survey, in the order of ``ASPECTS``; most objects first.
    """
    kind = "plan" if is_plan else "survey"
    subject = Subject(name=found.crd)
    if not is_plan:
        yield from _losses(found, subject)
    for loss in found.conversions:
        for one in loss.lost.paths:
            text = f"{one.path}: not the same at {loss.version} and {found.version}{_examples(one)}"
            yield Finding(
                level=Level.WARNING,
                rule=f"{kind}/conversion",
                subject=subject,
                message=text,
                path=one.path,
                version=loss.version,
            )
    for aspect in ASPECTS:
        for one in counts[aspect.name].paths:
            text = f"{one.path}: {aspect.planned if is_plan else aspect.text}{_examples(one)}"
            yield Finding(
                level=aspect.level,
                rule=f"{kind}/{aspect.name}",
                subject=subject,
                message=text,
                path=one.path.partition(": ")[0],
                version=found.candidate_version,
            )
    yield from _large(found, counts[LARGE], subject, kind)
    for one in found.not_judged.paths:
        text = f"not judged, since {one.path}{_examples(one)}"
        rule = f"{kind}/overdue"
        yield Finding(level=Level.WARNING, rule=rule, subject=subject, message=text)


def _large(found: Survey, large: Counts, subject: Subject, kind: str) -> Iterator[Finding]:
    most = f"{MAX_REQUEST_BYTES:,} bytes that etcd takes in one request by default"
    made = "with the new defaults it is" if kind == "plan" else "it is"
    for one in large.paths:
        text = f"{made} {_BANDS[one.path]} the {most}{_examples(one)}"
        if found.largest is not None:
            text = f"{text}; the largest is {found.largest} with {found.largest_bytes:,} bytes"
        yield Finding(
            level=Level.ERROR if one.path == OVER else Level.WARNING,
            rule=f"{kind}/large",
            subject=subject,
            message=text,
            version=found.candidate_version,
        )


def _losses(found: Survey, subject: Subject) -> Iterator[Finding]:
    for one in found.would_lose.paths if found.would_lose is not None else ():
        if is_unprovable(one.path):
            text = f"{describe_loss(one.path)}{_examples(one)}"
            rule = "survey/unprovable"
            yield Finding(level=Level.ERROR, rule=rule, subject=subject, message=text)
            continue
        version, _, path = one.path.partition(".")
        text = f"{describe_loss(one.path)}: a rewrite would or might remove it{_examples(one)}"
        yield Finding(
            level=Level.ERROR,
            rule="survey/loss",
            subject=subject,
            message=text,
            path=f".{path}",
            version=version,
        )


def unread_objects(found: Survey) -> Sequence[str]:
    """
    Return one sentence for each group of objects that could not be read.
    """
    sentences = [
        f"version {name} is not served: what is stored at it" for name in found.unread_versions
    ]
    if found.undecodable:
        number = counted(len(found.undecodable), "object")
        sentences.append(f"{number} that the server cannot read: {enumerated(found.undecodable)}")
    sentences += [f"not judged, since {one}" for one in found.not_judged.paths]
    return sentences


def survey_table(
    surveys: Sequence[Survey], counts: Sequence[Mapping[str, Counts]], *, is_plan: bool
) -> Table:
    """
    Return a table with one row for each survey: how many objects have each kind of finding.
    """
    columns = [Column(title="DEFINITION"), Column(title="VERSION"), Column(title="OBJECTS")]
    shown = ("removed", "pruned", "filled", "violations", "unwritable")
    columns += [
        Column(title=title) for title in ("LOST", "PRUNED", "DEFAULTED", "INVALID", "BLOCKED")
    ]
    rows = [
        [
            found.crd,
            found.candidate_version,
            str(found.objects),
            *(str(_number(found, named, name, is_plan=is_plan)) for name in shown),
        ]
        for found, named in zip(surveys, counts, strict=True)
    ]
    return Table(columns=columns, rows=rows)


def survey_item(found: Survey, counts: Mapping[str, Counts]) -> dict[str, JSON]:
    """
    Return the record of one survey for the JSON and YAML output.
    """
    lost = found.would_lose if found.would_lose is not None else Counts()
    return {
        "crd": found.crd,
        "generation": found.generation,
        "version": found.version,
        "candidateVersion": found.candidate_version,
        "legacy": found.is_legacy,
        "objects": found.objects,
        **{aspect.name: _counts(counts[aspect.name]) for aspect in ASPECTS},
        "overdue": _counts(found.not_judged),
        "large": _counts(counts[LARGE]),
        "largestBytes": found.largest_bytes,
        "conversions": [
            {
                "version": loss.version,
                "compared": loss.compared,
                "lost": _counts(loss.lost),
                "unsettled": _counts(loss.unsettled),
            }
            for loss in found.conversions
        ],
        "unreadVersions": list(found.unread_versions),
        "undecodable": list(found.undecodable),
        "history": {
            "paths": {
                describe_loss(one.path): counted(one.objects, "object")
                for one in lost.paths
                if not is_unprovable(one.path)
            },
            "unprovable": [
                f"{describe_loss(one.path)} ({counted(one.objects, 'object')})"
                for one in lost.paths
                if is_unprovable(one.path)
            ],
            "complete": not lost.is_cut,
        },
    }


def _number(found: Survey, counts: Mapping[str, Counts], name: str, *, is_plan: bool) -> str:
    objects = counts[name].objects
    lost = found.would_lose
    if name == "removed" and not is_plan and lost is not None and lost.objects:
        return counted(len(lost.paths), "path")
    return str(objects)


def _examples(one: PathCount) -> str:
    named = enumerated((str(key) for key in one.first), total=one.objects)
    return f" ({counted(one.objects, 'object')}: {named})"


def _counts(counts: Counts) -> JSON:
    return {
        "objects": counts.objects,
        "first": [str(key) for key in counts.first],
        "paths": [
            {"path": one.path, "objects": one.objects, "first": [str(key) for key in one.first]}
            for one in counts.paths
        ],
        "complete": not counts.is_cut,
    }
