"""
What a command has to say, as one record that every output format renders.

Nothing here knows of a format, of the terminal or of a cluster.
"""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from espalier.names import OUTPUT_API_VERSION
from espalier.paths import JSON

"""The version of the shape that programs get; another shape gets another version."""


class Level(enum.Enum):
    """
    How much a finding matters.
    """

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """
    One thing that was looked at: a definition, or an object.

    Attributes:
        source: The file as the user named it, ``-`` for standard input; empty in a cluster.
        document: One-based, among the documents of the source; 0 in a cluster.
        line: One-based, if known; so is the column.
    """

    name: str
    source: str = ""
    document: int = 0
    line: int | None = None
    column: int | None = None

    @property
    def where(self) -> str:
        """
        The place, as compilers write it: ``crd.yaml:12:5``; empty in a cluster.
        """
        if not self.source:
            return ""
        if self.line is None:
            return f"{self.source}: document {self.document}"
        return f"{self.source}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """
    Something that somebody should know.

    Attributes:
        rule: Its name, for machines: ``structural/type``.
        subject: What it is about, and where in it.
        message: Path and message, for people.
        path: As the API server writes paths; empty for the subject as a whole.
        version: Of the definition; empty where it is about no single one.
        hint: What to do about it, in a few words; may be empty.
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
    Something that could not be read.

    Attributes:
        source: A file, or what was asked of the cluster.
        line: One-based, if known.
    """

    source: str
    message: str
    line: int | None = None

    def __str__(self) -> str:
        where = self.source if self.line is None else f"{self.source}:{self.line}"
        return f"{where}: {self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """
    Something that was passed over, and why.
    """

    source: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """
    One column of a table.

    Attributes:
        is_wide: Shown by ``-o wide`` only.
    """

    title: str
    is_wide: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """
    Rows of texts under columns.

    Attributes:
        is_wide: Shown by ``-o wide`` only.
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    title: str = ""
    is_wide: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """
    What one command came to.

    Attributes:
        kind: Of the JSON document: ``CheckResult``.
        summary: One sentence.
        subjects: All that was looked at, whether there is a finding on it or not.
        items: Records of the command's own, for programs.
        counts: Numbers to go by, for programs.
        is_incomplete: Not everything that was asked for was done.
    """

    kind: str
    summary: str
    findings: tuple[Finding, ...] = ()
    problems: tuple[Problem, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    subjects: tuple[Subject, ...] = ()
    tables: tuple[Table, ...] = ()
    items: tuple[JSON, ...] = field(default=(), hash=False)
    counts: Mapping[str, int] = field(default_factory=dict, hash=False)
    is_incomplete: bool = False

    def number(self, level: Level) -> int:
        """
        Count the findings of a level.
        """
        return sum(finding.level is level for finding in self.findings)


def document_of(result: Result) -> dict[str, JSON]:
    """
    Make the document that programs get; see ``result.schema.json``.
    """
    levels = {f"{level.value}s": result.number(level) for level in Level}
    return {
        "apiVersion": OUTPUT_API_VERSION,
        "kind": result.kind,
        "summary": result.summary,
        "complete": not result.is_incomplete,
        "counts": {**result.counts, **levels},
        "findings": [_finding(finding) for finding in result.findings],
        "problems": [
            {"source": one.source, "line": one.line, "message": one.message}
            for one in result.problems
        ],
        "skipped": [{"source": one.source, "reason": one.reason} for one in result.skipped],
        "items": list(result.items),
    }


def _finding(finding: Finding) -> JSON:
    subject = finding.subject
    return {
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
