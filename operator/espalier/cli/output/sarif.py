"""
Results as SARIF 2.1.0, for code scanning.
"""

from collections.abc import Iterator, Mapping
from urllib.parse import quote

from espalier import __version__
from espalier.cli.output.json_writer import json_pieces
from espalier.cli.result import Finding, Level, Problem, Result, Stream, Subject
from espalier.paths import JSON

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render_sarif(result: Result) -> Iterator[str]:
    """
    Yield the pieces of a SARIF log with one run.

    Source:
        OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".
    """
    rules = sorted({finding.rule for finding in result.findings})
    places = {rule: index for index, rule in enumerate(rules)}
    driver: dict[str, JSON] = {
        "name": "espalier",
        "version": __version__,
        "rules": [{"id": rule} for rule in rules],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": not result.problems and not result.is_incomplete,
                "toolExecutionNotifications": [_notification(one) for one in result.problems],
            }
        ],
        "results": Stream(_result(finding, places) for finding in result.findings),
    }
    yield from json_pieces({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})
    yield "\n"


def _result(finding: Finding, places: Mapping[str, int]) -> JSON:
    text = f"{finding.subject.title}: {finding.message}"
    if finding.hint:
        text += f"\nfix: {finding.hint}"
    return {
        "ruleId": finding.rule,
        "ruleIndex": places[finding.rule],
        "level": finding.level.value,
        "message": {"text": text},
        "locations": [_location(finding.subject, finding.path)],
    }


def _location(subject: Subject, path: str) -> JSON:
    name = f"{subject.name}/{path}" if path else subject.name
    location: dict[str, JSON] = {"logicalLocations": [{"fullyQualifiedName": name}]}
    if subject.source and subject.source != "-":
        location["physicalLocation"] = _physical(subject.source, subject.line, subject.column)
    return location


def _physical(source: str, line: int | None, column: int | None) -> JSON:
    physical: dict[str, JSON] = {"artifactLocation": {"uri": quote(source)}}
    if line is not None:
        region: dict[str, JSON] = {"startLine": line}
        if column is not None:
            region["startColumn"] = column
        physical["region"] = region
    return physical


def _notification(problem: Problem) -> JSON:
    notification: dict[str, JSON] = {
        "level": Level.ERROR.value,
        "message": {"text": str(problem)},
    }
    if problem.source != "-":
        notification["locations"] = [
            {"physicalLocation": _physical(problem.source, problem.line, None)}
        ]
    return notification
