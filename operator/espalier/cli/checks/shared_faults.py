"""
Report a fault once where several versions of a definition share the text that has it.

A v1beta1 manifest may have one schema for all versions, and in YAML an alias may stand for one.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from espalier.cli.result import Finding

_VERSION = re.compile(r"\bspec\.versions\[[0-9]+\]")


def reported_once(findings: Sequence[Finding]) -> list[Finding]:
    """
    Return findings in the same order, those that differ only in their version as one.

    The message of such a finding names the versions.
    """
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for number, finding in enumerate(findings):
        groups.setdefault(_place_of(finding) or (number,), []).append(finding)
    return [_merged(group) for group in groups.values()]


def _place_of(finding: Finding) -> tuple[object, ...] | None:
    # Without a position, nothing shows that two versions share a text.
    subject = finding.subject
    if subject.line is None or not finding.version:
        return None
    message = _VERSION.sub("spec.versions[]", finding.message)
    return subject.line, subject.column, finding.level, finding.rule, message, finding.hint


def _merged(group: Sequence[Finding]) -> Finding:
    versions = list(dict.fromkeys(finding.version for finding in group))
    if len(versions) == 1:
        return group[0]
    text = f"{group[0].message} (in {', '.join(versions)})"
    return replace(group[0], message=text, version="")
