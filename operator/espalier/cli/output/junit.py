"""
Results as JUnit XML, for the test reports of build servers.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from xml.etree import ElementTree as ET

from espalier.cli.result import Finding, Level, Result, Subject

# XML 1.0 cannot hold these characters, not even escaped.
_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_IN_THE_CLUSTER = "cluster"


def render_junit(result: Result, *, fail_on: Level) -> str:
    """
    Render a result as one test suite for each source, with one test case for each subject.

    Args:
        fail_on: The lowest level of finding that fails its test case; other findings are written
            to the test case's output.
    """
    failing = {Level.ERROR} if fail_on is Level.ERROR else {Level.ERROR, Level.WARNING}
    cases: dict[str, list[ET.Element]] = defaultdict(list)
    by_subject: dict[tuple[str, int, str], list[Finding]] = defaultdict(list)
    for finding in result.findings:
        by_subject[_key(finding.subject)].append(finding)
    subjects = {_key(one): one for one in (*result.subjects, *(f.subject for f in result.findings))}
    for key, subject in subjects.items():
        cases[_suite(subject.source)].append(_case(subject, by_subject[key], failing))
    for problem in result.problems:
        case = _element("testcase", classname=_suite(problem.source), name="readable")
        _note(case, "error", "unreadable", str(problem))
        cases[_suite(problem.source)].append(case)
    for skip in result.skipped:
        case = _element("testcase", classname=_suite(skip.source), name="checked")
        case.append(_element("skipped", message=skip.reason))
        cases[_suite(skip.source)].append(case)
    root = _element("testsuites", name=f"espalier {result.kind}", **_numbers(cases.values()))
    for suite, elements in cases.items():
        holder = _element("testsuite", name=suite, **_numbers([elements]))
        holder.extend(elements)
        root.append(holder)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True)


def _key(subject: Subject) -> tuple[str, int, str]:
    # Without line and column: the findings of one subject have different positions.
    return subject.source, subject.document, subject.name


def _suite(source: str) -> str:
    return {"": _IN_THE_CLUSTER, "-": "standard input"}.get(source, source)


def _case(subject: Subject, findings: list[Finding], failing: set[Level]) -> ET.Element:
    case = _element("testcase", classname=_suite(subject.source), name=subject.name)
    passing = [finding for finding in findings if finding.level not in failing]
    for finding in findings:
        if finding.level in failing:
            _note(case, "failure", finding.rule, _text(finding))
    if passing:
        output = _element("system-out")
        output.text = _clean("\n".join(f"{one.level.value}: {_text(one)}" for one in passing))
        case.append(output)
    return case


def _text(finding: Finding) -> str:
    where = f"{finding.subject.where}: " if finding.subject.where else ""
    fix = f"\nfix: {finding.hint}" if finding.hint else ""
    return f"{where}{finding.message}{fix}"


def _note(case: ET.Element, tag: str, type_: str, text: str) -> None:
    note = _element(tag, type=type_, message=text.partition("\n")[0])
    note.text = _clean(text)
    case.append(note)


def _numbers(suites: Iterable[list[ET.Element]]) -> dict[str, str]:
    elements = [case for suite in suites for case in suite]
    tags = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    numbers = {
        name: str(sum(case.find(tag) is not None for case in elements))
        for name, tag in tags.items()
    }
    return {"tests": str(len(elements)), **numbers}


def _element(tag: str, **attributes: str) -> ET.Element:
    return ET.Element(tag, {name: _clean(value) for name, value in attributes.items()})


def _clean(text: str) -> str:
    return _UNWRITABLE.sub("\ufffd", text)
