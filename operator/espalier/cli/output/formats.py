"""
The output formats, as one table of names and renderers.

A new format is a function and a row of ``RENDERERS``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from types import MappingProxyType

from espalier.cli.output.junit import render_junit
from espalier.cli.output.sarif import render_sarif
from espalier.cli.output.yaml_writer import write_json, write_yaml
from espalier.cli.result import Finding, Level, Result, Table, document_of

TEXTS = ("table", "wide")
"""Formats for people; the module ``tables`` prints them line by line."""


@dataclass(frozen=True, slots=True)
class Options:
    """
    What a renderer needs besides the result.

    Attributes:
        fail_on: The lowest level of finding that makes the command fail.
    """

    fail_on: Level = Level.ERROR


Renderer = Callable[[Result, Options], str]


def render(result: Result, name: str, options: Options) -> str:
    """
    Return a result in the format of this name; the text is empty or ends with a line break.
    """
    text = RENDERERS[name](result, options)
    return text if not text or text.endswith("\n") else f"{text}\n"


def _json(result: Result, _: Options) -> str:
    return write_json([document_of(result)])


def _yaml(result: Result, _: Options) -> str:
    return write_yaml([document_of(result)])


def _junit(result: Result, options: Options) -> str:
    return render_junit(result, fail_on=options.fail_on)


def _sarif(result: Result, _: Options) -> str:
    return render_sarif(result, version=version("espalier"))


_GITHUB_LEVELS: Mapping[Level, str] = {
    Level.ERROR: "error",
    Level.WARNING: "warning",
    Level.NOTE: "notice",
}


def _github(result: Result, _: Options) -> str:
    # GitHub Actions turns these workflow commands into annotations of the lines.
    lines = [_annotation(finding) for finding in result.findings]
    lines += [
        _command("error", problem.message, file=problem.source, line=problem.line)
        for problem in result.problems
    ]
    return "".join(f"{line}\n" for line in lines)


def _annotation(finding: Finding) -> str:
    subject = finding.subject
    text = f"{subject.name}: {finding.message}"
    return _command(
        _GITHUB_LEVELS[finding.level],
        f"{text}\nfix: {finding.hint}" if finding.hint else text,
        file=subject.source,
        line=subject.line,
        col=subject.column,
        title=finding.rule,
    )


def _command(name: str, text: str, **properties: str | int | None) -> str:
    given = {key: str(value) for key, value in properties.items() if value not in (None, "", "-")}
    listed = ",".join(
        f"{key}={_escaped(value).replace(':', '%3A').replace(',', '%2C')}"
        for key, value in given.items()
    )
    return f"::{name} {listed}::{_escaped(text)}" if listed else f"::{name}::{_escaped(text)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _markdown(result: Result, _: Options) -> str:
    parts = [f"{_cell(result.summary)}\n"] if result.summary else []
    if result.findings:
        lines = ["| level | where | message | rule |", "|---|---|---|---|"]
        for one in result.findings:
            where = one.subject.where or one.subject.name
            fix = f"<br>fix: {_cell(one.hint)}" if one.hint else ""
            cells = (one.level.value, _cell(where), f"{_cell(one.message)}{fix}", f"`{one.rule}`")
            lines.append(f"| {' | '.join(cells)} |")
        parts.append("\n".join(lines) + "\n")
    parts += [_markdown_table(table) for table in result.tables if table.rows]
    unread = [f"- could not be read: {_cell(str(one))}" for one in result.problems]
    unread += [f"- skipped: {_cell(one.source)}: {_cell(one.reason)}" for one in result.skipped]
    if unread:
        parts.append("\n".join(unread) + "\n")
    return "\n".join(parts)


def _markdown_table(table: Table) -> str:
    lines = [f"**{_cell(table.title)}**", ""] if table.title else []
    lines.append(f"| {' | '.join(_cell(column.title) for column in table.columns)} |")
    lines.append("|" + "---|" * len(table.columns))
    lines += [f"| {' | '.join(map(_cell, row))} |" for row in table.rows]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    plain = " ".join(text.split("\n"))
    for char in "\\`|*_<>[]":
        plain = plain.replace(char, f"\\{char}")
    return plain


RENDERERS: Mapping[str, Renderer] = MappingProxyType(
    {
        "json": _json,
        "yaml": _yaml,
        "junit": _junit,
        "sarif": _sarif,
        "github": _github,
        "markdown": _markdown,
    }
)
"""Formats for programs, by name."""

ALL = (*TEXTS, *RENDERERS)
"""The formats of commands that report findings."""

TABULAR = (*TEXTS, "json", "yaml", "markdown")
"""The formats of commands that only list things."""
