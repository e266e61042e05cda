"""
The result of a command, as one record that every output format renders.

Nothing here depends on a format, on the terminal or on a cluster.
"""

import enum
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from espalier.names import OUTPUT_API_VERSION
from espalier.paths import JSON


class Level(enum.Enum):
    """
    The severity of a finding.
    """

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """
    One definition or object that a command examined.

    Attributes:
        source: The file as the user named it; ``-`` for standard input, empty for a cluster.
        document: The number of the document in the source, from 1; 0 for a cluster.
        line: The line in the source, from 1; None if it is not known.
        column: The column in the line, from 1; None if it is not known.
        cluster: The context of the cluster, where several are read; empty otherwise.
    """

    name: str
    source: str = ""
    document: int = 0
    line: int | None = None
    column: int | None = None
    cluster: str = ""

    @property
    def title(self) -> str:
        """
        The name, and the cluster if there are several.
        """
        return f"{self.cluster}: {self.name}" if self.cluster else self.name

    @property
    def where(self) -> str:
        """
        The position as compilers write it, ``crd.yaml:12:5``; empty for a cluster.
        """
        if not self.source:
            return ""
        if self.line is None:
            return f"{self.source}: document {self.document}"
        return f"{self.source}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """
    One thing that a command reports about a subject.

    Attributes:
        rule: A stable name for programs, such as ``structural/type``.
        subject: The definition or object, and the position in its source.
        message: The text for people; it begins with the path, if there is one.
        path: The field path as the API server writes it; empty for the subject as a whole.
        version: The version of the definition; empty if no single version is concerned.
        hint: How to fix it, in one short sentence; may be empty.
    """

    level: Level
    rule: str
    subject: Subject
    message: str
    path: str = ""
    version: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """
    A file, or a part of the cluster, that could not be read.

    Attributes:
        source: The file, or the name of the definition in the cluster.
        line: The line in the file, from 1; None if it is not known.
        cluster: The context of the cluster, where several are read; empty otherwise.
    """

    source: str
    message: str
    line: int | None = None
    cluster: str = ""

    def __str__(self) -> str:
        where = self.source if self.line is None else f"{self.source}:{self.line}"
        if self.cluster not in ("", self.source):
            where = f"{self.cluster}: {where}"
        return f"{where}: {self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """
    A document that was not examined, and the reason.
    """

    source: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """
    One column of a table.

    Attributes:
        is_wide: Whether only ``-o wide`` shows it.
    """

    title: str
    is_wide: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """
    A table of texts: columns and rows.

    Attributes:
        is_wide: Whether only ``-o wide`` shows it.
    """

    columns: Sequence[Column]
    rows: Collection[Sequence[str]]
    title: str = ""
    is_wide: bool = False


@dataclass(frozen=True, slots=True)
class Stream:
    """
    A list of JSON values that is made while it is written.
    """

    values: Iterator[JSON]

    def __iter__(self) -> Iterator[JSON]:
        return self.values


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """
    The result of one command.

    Collections may lie in a file: they are read in order, as often as needed, and never kept.

    Attributes:
        kind: The ``kind`` of the JSON document, such as ``CheckResult``.
        summary: One sentence for people.
        findings: All findings; those of one subject follow each other.
        subjects: Everything that was examined, with or without findings.
        items: One record for each subject, for programs; its fields depend on the command.
        counts: Totals, for programs.
        is_incomplete: Whether part of the work was left undone.
        is_partial: Whether the problems are those of some of several clusters only.
        levels: The number of findings of each level; None counts them when it is asked for.
        grouped: The subjects with their findings, ordered by source; None if they have to be
            brought together first.
    """

    kind: str
    summary: str
    findings: Collection[Finding] = ()
    problems: tuple[Problem, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    subjects: Collection[Subject] = ()
    tables: tuple[Table, ...] = ()
    items: Collection[JSON] = field(default=(), hash=False)
    counts: Mapping[str, int] = field(default_factory=dict, hash=False)
    is_incomplete: bool = False
    is_partial: bool = False
    levels: Mapping[Level, int] | None = field(default=None, hash=False)
    grouped: Collection[tuple[Subject, Sequence[Finding]]] | None = field(default=None, hash=False)

    def number(self, level: Level) -> int:
        """
        Return the number of findings of a level.
        """
        if self.levels is not None:
            return self.levels.get(level, 0)
        return sum(finding.level is level for finding in self.findings)


def document_of(result: Result) -> "dict[str, JSON | Stream]":
    """
    Return the document of the JSON and YAML output; ``result.schema.json`` describes it.
    """
    levels = {f"{level.value}s": result.number(level) for level in Level}
    return {
        "apiVersion": OUTPUT_API_VERSION,
        "kind": result.kind,
        "summary": result.summary,
        "complete": not (result.is_incomplete or (result.is_partial and result.problems)),
        "counts": {**result.counts, **levels},
        "findings": Stream(_finding(finding) for finding in result.findings),
        "problems": [
            {
                **({"cluster": one.cluster} if one.cluster else {}),
                "source": one.source,
                "line": one.line,
                "message": one.message,
            }
            for one in result.problems
        ],
        "skipped": [{"source": one.source, "reason": one.reason} for one in result.skipped],
        "items": Stream(iter(result.items)),
    }


def _finding(finding: Finding) -> JSON:
    subject = finding.subject
    return {
        **({"cluster": subject.cluster} if subject.cluster else {}),
        "level": finding.level.value,
        "rule": finding.rule,
        "subject": subject.name,
        "source": subject.source,
        "document": subject.document,
        "line": subject.line,
        "column": subject.column,
        "version": finding.version,
        "path": finding.path,
        "message": finding.message,
        "hint": finding.hint,
    }
