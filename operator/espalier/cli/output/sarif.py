"""
Results as SARIF 2.1.0, for code scanning.
"""

import json
from urllib.parse import quote

from espalier.cli.result import Finding, Level, Problem, Result, Subject
from espalier.paths import JSON

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render_sarif(result: Result, *, version: str) -> str:
    """
    Render a result as a SARIF log with one run.

    Args:
        version: The version of Espalier.

    Source:
        OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".
    """
    rules = sorted({finding.rule for finding in result.findings})
    driver: dict[str, JSON] = {
        "name": "espalier",
        "version": version,
        "rules": [{"id": rule} for rule in rules],
    }
    run: dict[str, JSON] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": not result.problems and not result.is_incomplete,
                "toolExecutionNotifications": [_notification(one) for one in result.problems],
            }
        ],
        "results": [_result(finding, rules) for finding in result.findings],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _result(finding: Finding, rules: list[str]) -> JSON:
    text = f"{finding.subject.name}: {finding.message}"
    if finding.hint:
        text += f"\nfix: {finding.hint}"
    return {
        "ruleId": finding.rule,
        "ruleIndex": rules.index(finding.rule),
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
