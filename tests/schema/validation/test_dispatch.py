"""
A plan leaves nothing out: all checks, made one after the other, find and count the same.
"""

import pytest

from espalier.paths import JSON, Path
from espalier.schema import Profile, Structural
from espalier.schema.validation import dispatch as planning_module
from espalier.schema.validation.dispatch import Plans
from espalier.schema.validation.formats import format_of
from espalier.schema.validation.keywords import CHECKS, CHECKS_OF_NULL, SPEAKING, check_type
from espalier.schema.validation.violations import At, Check, ValueViolations
from tests.properties.test_fast_path import KEYWORDS, VALUES, nodes_with, parsed

EVERY = 29


def by_all_checks(value: JSON, node: Structural, path: Path = ()) -> ValueViolations:
    result = ValueViolations()
    at = At(path, "", by_all_checks, by_all_checks, format_of)
    if value is None:
        for check in CHECKS_OF_NULL:
            check(value, node, at, result)
        return result
    for group in CHECKS:
        if group.of is not None and value.__class__ not in group.of:
            continue
        result.matches += group.matches
        before = len(result.violations)
        for check in group.checks:
            check(value, node, at, result)
            if group.only_first and len(result.violations) > before:
                break
    result.matches += 1
    return result


def by_plan(value: JSON, node: Structural, plans: Plans, path: Path = ()) -> ValueViolations:
    def walk(value: JSON, node: Structural, path: Path) -> ValueViolations:
        return by_plan(value, node, plans, path)

    result = ValueViolations()
    checks = CHECKS_OF_NULL
    if value is not None:
        result.matches, checks = plans.of(node, value.__class__)
    for check in checks:
        check(value, node, At(path, "", walk, walk, format_of), result)
    return result


def test_every_check_is_known_to_speak_or_not() -> None:
    assert {check for group in CHECKS for check in group.checks} == {*SPEAKING, check_type}


def differences(keyword: str) -> list[tuple[JSON, JSON]]:
    found: list[tuple[JSON, JSON]] = []
    for turn, raw in enumerate(nodes_with(keyword)):
        structural = parsed(raw, Profile.APISERVER)
        plans = Plans(format_of)
        for value in VALUES[turn % EVERY :: EVERY]:
            one, other = by_all_checks(value, structural), by_plan(value, structural, plans)
            same = [*map(str, one.violations)] == [*map(str, other.violations)]
            if not same or one.matches != other.matches:
                found.append((raw, value))
    return found


@pytest.mark.parametrize("keyword", KEYWORDS)
def test_a_plan_finds_and_counts_what_all_checks_do(keyword: str) -> None:
    assert differences(keyword) == []


@pytest.mark.parametrize("check", SPEAKING, ids=lambda check: check.__name__)
def test_that_would_notice_a_check_left_out(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    silent = {**SPEAKING, check: lambda _: False}
    monkeypatch.setattr(planning_module, "SPEAKING", silent)
    head, *rest = check.__name__.removeprefix("check").strip("_").split("_")
    keyword = head + "".join(map(str.capitalize, rest))

    assert differences("format" if keyword == "range" else keyword)
