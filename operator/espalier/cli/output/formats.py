"""
The output formats, as one table of names and renderers.

A new format is a function and a row of ``RENDERERS``.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TextIO

from espalier.cli.result import Finding, Level, Result, Table

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


Renderer = Callable[[Result, Options], Iterator[str]]


def render(result: Result, name: str, options: Options) -> str:
    """
    Return a result in the format of this name; the text is empty or ends with a line break.
    """
    return "".join(RENDERERS[name](result, options))


def write(result: Result, name: str, options: Options, stream: TextIO) -> None:
    """
    Write a result in the format of this name, piece by piece.
    """
    stream.writelines(RENDERERS[name](result, options))


def _json(result: Result, _: Options) -> Iterator[str]:
    from espalier.cli.output.json_writer import write_result_as_json

    yield from write_result_as_json(result)


def _yaml(result: Result, _: Options) -> Iterator[str]:
    from espalier.cli.output.yaml_writer import write_result_as_yaml

    yield from write_result_as_yaml(result)


def _junit(result: Result, options: Options) -> Iterator[str]:
    from espalier.cli.output.junit import render_junit

    yield from render_junit(result, fail_on=options.fail_on)


def _sarif(result: Result, _: Options) -> Iterator[str]:
    from espalier.cli.output.sarif import render_sarif

    yield from render_sarif(result)


_GITHUB_LEVELS: Mapping[Level, str] = {
    Level.ERROR: "error",
    Level.WARNING: "warning",
    Level.NOTE: "notice",
}


def _github(result: Result, _: Options) -> Iterator[str]:
    # GitHub Actions turns these workflow commands into annotations of the lines.
    for finding in result.findings:
        yield f"{_annotation(finding)}\n"
    for problem in result.problems:
        yield _command("error", problem.message, file=problem.source, line=problem.line) + "\n"


def _annotation(finding: Finding) -> str:
    subject = finding.subject
    text = f"{subject.title}: {finding.message}"
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


def _markdown(result: Result, _: Options) -> Iterator[str]:
    # Parts are separated by an empty line.
    separator = ""
    for part in _markdown_parts(result):
        yield separator
        yield from part
        separator = "\n"


def _markdown_parts(result: Result) -> Iterator[Iterator[str]]:
    if result.summary:
        yield iter([f"{_cell(result.summary)}\n"])
    if result.findings:
        yield _markdown_findings(result)
    yield from (_markdown_table(table) for table in result.tables if table.rows)
    unread = [f"- could not be read: {_cell(str(one))}\n" for one in result.problems]
    unread += [f"- skipped: {_cell(one.source)}: {_cell(one.reason)}\n" for one in result.skipped]
    if unread:
        yield iter(unread)


def _markdown_findings(result: Result) -> Iterator[str]:
    yield "| level | where | message | rule |\n|---|---|---|---|\n"
    for one in result.findings:
        where = one.subject.where or one.subject.title
        fix = f"<br>fix: {_cell(one.hint)}" if one.hint else ""
        cells = (one.level.value, _cell(where), f"{_cell(one.message)}{fix}", f"`{one.rule}`")
        yield f"| {' | '.join(cells)} |\n"


def _markdown_table(table: Table) -> Iterator[str]:
    if table.title:
        yield f"**{_cell(table.title)}**\n\n"
    yield f"| {' | '.join(_cell(column.title) for column in table.columns)} |\n"
    yield "|" + "---|" * len(table.columns) + "\n"
    for row in table.rows:
        yield f"| {' | '.join(map(_cell, row))} |\n"


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
