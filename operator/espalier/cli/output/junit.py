"""
Results as JUnit XML, for the test reports of build servers.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as ET

from espalier.cli.result import Finding, Level, Result, Subject

# XML 1.0 cannot hold these characters, not even escaped.
_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
NO_SCHEMA = "validate/no-schema"
"""The rule of a finding about an object that was not examined."""

_IN_THE_CLUSTER = "cluster"
_TAGS = {"failures": "failure", "errors": "error", "skipped": "skipped"}

_Numbers = dict[str, int]


def render_junit(result: Result, *, fail_on: Level) -> Iterator[str]:
    """
    Yield the pieces of one test suite for each source, with one test case for each subject.

    The cases are made twice: to count them, and to write them.

    Args:
        fail_on: The lowest level of finding that fails its test case; other findings are written
            to the test case's output.
    """
    report = _Report(result, {Level.ERROR} if fail_on is Level.ERROR else set(Level) - {Level.NOTE})
    suites: dict[str, _Numbers] = {}
    for suite, case in report.cases():
        _count(suites.setdefault(suite, _none()), case)
    total = _none()
    for numbers in suites.values():
        for name, number in numbers.items():
            total[name] += number
    yield "<?xml version='1.0' encoding='utf-8'?>\n"
    yield _start("testsuites", {"name": f"espalier {result.kind}"}, total, is_empty=not suites)
    current = None
    for suite, case in report.cases():
        if suite != current:
            yield "" if current is None else "  </testsuite>\n"
            yield "  " + _start("testsuite", {"name": suite}, suites[suite], is_empty=False)
            current = suite
        ET.indent(case, level=2)
        yield f"    {ET.tostring(case, encoding='unicode').rstrip()}\n"
    if suites:
        yield "  </testsuite>\n</testsuites>\n"


class _Report:
    """
    The test cases of a result.
    """

    def __init__(self, result: Result, failing: set[Level]) -> None:
        self._result = result
        self._failing = failing
        self._grouped = result.grouped if result.grouped is not None else _grouped(result)

    def cases(self) -> Iterator[tuple[str, ET.Element]]:
        """
        Yield each suite's name with each of its cases, suite by suite.
        """
        others: dict[str, list[ET.Element]] = defaultdict(list)
        for suite, case in self._others():
            others[suite].append(case)
        current = None
        for subject, findings in self._grouped:
            suite = _suite(subject.source)
            if current not in (None, suite):
                yield from ((current, case) for case in others.pop(current, ()))
            current = suite
            yield suite, _case(subject, findings, self._failing)
        if current is not None:
            yield from ((current, case) for case in others.pop(current, ()))
        for suite, cases in others.items():
            yield from ((suite, case) for case in cases)

    def _others(self) -> Iterator[tuple[str, ET.Element]]:
        for problem in self._result.problems:
            case = _element("testcase", classname=_suite(problem.source), name="readable")
            _note(case, "error", "unreadable", str(problem))
            yield _suite(problem.source), case
        for skip in self._result.skipped:
            case = _element("testcase", classname=_suite(skip.source), name="checked")
            case.append(_element("skipped", message=skip.reason))
            yield _suite(skip.source), case


def _grouped(result: Result) -> list[tuple[Subject, Sequence[Finding]]]:
    findings: dict[tuple[str, int, str], list[Finding]] = defaultdict(list)
    for finding in result.findings:
        findings[_key(finding.subject)].append(finding)
    subjects = {_key(one): one for one in (*result.subjects, *(f.subject for f in result.findings))}
    by_suite: dict[str, list[tuple[Subject, Sequence[Finding]]]] = defaultdict(list)
    for key, subject in subjects.items():
        by_suite[_suite(subject.source)].append((subject, findings[key]))
    return [pair for pairs in by_suite.values() for pair in pairs]


def _none() -> _Numbers:
    return {"tests": 0, **dict.fromkeys(_TAGS, 0)}


def _count(numbers: _Numbers, case: ET.Element) -> None:
    numbers["tests"] += 1
    for name, tag in _TAGS.items():
        numbers[name] += case.find(tag) is not None


def _start(tag: str, names: dict[str, str], numbers: _Numbers, *, is_empty: bool) -> str:
    element = _element(tag, **names, **{name: str(number) for name, number in numbers.items()})
    text = ET.tostring(element, encoding="unicode")
    return f"{text}\n" if is_empty else f"{text.removesuffix('/>').rstrip()}>\n"


def _key(subject: Subject) -> tuple[str, int, str]:
    # Without line and column: the findings of one subject have different positions.
    return subject.source, subject.document, subject.title


def _suite(source: str) -> str:
    return {"": _IN_THE_CLUSTER, "-": "standard input"}.get(source, source)


def _case(subject: Subject, findings: Sequence[Finding], failing: set[Level]) -> ET.Element:
    case = _element("testcase", classname=_suite(subject.source), name=subject.title)
    passing = [finding for finding in findings if finding.level not in failing]
    unchecked = [finding for finding in passing if finding.rule == NO_SCHEMA]
    if unchecked and len(passing) == len(findings):
        # Neither valid nor invalid.
        case.append(_element("skipped", message=_text(unchecked[0]).partition("\n")[0]))
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


def _element(tag: str, **attributes: str) -> ET.Element:
    return ET.Element(tag, {name: _clean(value) for name, value in attributes.items()})


def _clean(text: str) -> str:
    return _UNWRITABLE.sub("\ufffd", text)
