"""
Surveys as results: counts, paths and names; never a value.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from espalier.cli.result import Column, Finding, Level, Subject, Table
from espalier.engine import Counts, PathCount, Survey
from espalier.engine.status.text import enumerated
from espalier.paths import JSON
from espalier.plurals import counted


class Aspect(NamedTuple):
    """
    One thing that a survey tells, and what it means.

    Attributes:
        text: What becomes of a path, in the survey of a definition as it is.
        planned: The same of a candidate.
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
    Aspect("unwritable", Level.ERROR, "blocked: cannot be updated before it is mended", "blocked"),
    Aspect("unchecked", Level.NOTE, "rules not checked", "rules not checked"),
)
_OTHERS = ("violations", "unwritable", "unchecked")


def counts_of(found: Survey) -> Mapping[str, Counts]:
    """
    Name the counts of a survey.
    """
    told = {
        aspect.name: getattr(found if aspect.name in _OTHERS else found.normalising, aspect.name)
        for aspect in ASPECTS
    }
    # A legacy definition's own pruning is what removes; the server's would be another matter.
    if found.is_legacy:
        told["removed"] = Counts()
    return told


def findings_of(found: Survey, counts: Mapping[str, Counts], *, is_plan: bool) -> Iterator[Finding]:
    """
    Tell a survey as findings, the worst of each kind first.
    """
    kind = "plan" if is_plan else "survey"
    subject = Subject(name=found.crd)
    if found.history is not None and not is_plan:
        for sentence in found.history.unprovable:
            rule = "survey/unprovable"
            yield Finding(level=Level.ERROR, rule=rule, subject=subject, message=sentence)
        for path, why in sorted(found.history.paths.items()):
            text = f"{path}: a rewrite would remove it: {why}"
            yield Finding(
                level=Level.ERROR, rule="survey/loss", subject=subject, message=text, path=path
            )
    for loss in found.conversions:
        for one in loss.lost.paths:
            text = f"{one.path}: not the same at {loss.version} and {found.version}{_who(one)}"
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
            text = f"{one.path}: {aspect.planned if is_plan else aspect.text}{_who(one)}"
            yield Finding(
                level=aspect.level,
                rule=f"{kind}/{aspect.name}",
                subject=subject,
                message=text,
                path=one.path.partition(": ")[0],
                version=found.candidate_version,
            )


def unseen(found: Survey) -> Sequence[str]:
    """
    Say what nobody could look at.
    """
    said = [f"version {name} is not served: what is stored at it" for name in found.unread_versions]
    if found.undecodable:
        number = counted(len(found.undecodable), "object")
        said.append(f"{number} that the server cannot read: {enumerated(found.undecodable)}")
    return said


def survey_table(
    surveys: Sequence[Survey], counts: Sequence[Mapping[str, Counts]], *, is_plan: bool
) -> Table:
    """
    Make a row of each survey: how many objects have what.
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
            *(str(_number(found, told, name, is_plan=is_plan)) for name in shown),
        ]
        for found, told in zip(surveys, counts, strict=True)
    ]
    return Table(columns=columns, rows=rows)


def survey_item(found: Survey, counts: Mapping[str, Counts]) -> JSON:
    """
    Make the record that programs get.
    """
    history = found.history
    return {
        "crd": found.crd,
        "generation": found.generation,
        "version": found.version,
        "candidateVersion": found.candidate_version,
        "legacy": found.is_legacy,
        "objects": found.objects,
        **{aspect.name: _counts(counts[aspect.name]) for aspect in ASPECTS},
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
            "paths": {} if history is None else dict(history.paths),
            "unprovable": [] if history is None else list(history.unprovable),
            "complete": history is None or not history.is_cut,
        },
    }


def _number(found: Survey, counts: Mapping[str, Counts], name: str, *, is_plan: bool) -> str:
    objects = counts[name].objects
    if name == "removed" and not is_plan and found.history is not None and found.history.paths:
        return counted(len(found.history.paths), "path")
    return str(objects)


def _who(one: PathCount) -> str:
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
