"""
A short run of what ``make fuzz`` does at length, and the cases that were kept.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fuzz import hostile, texts
from tests.fuzz.corpus import case_of, kept
from tests.fuzz.making import case
from tests.fuzz.playground import Playground, playground
from tests.fuzz.running import Total, parts, run_part

SEEDS = (5, 9, 197, 217)
_MEMORY = 2 * 2**30


@pytest.fixture(scope="module")
def place() -> Iterator[Playground]:
    with playground() as made:
        yield made


@pytest.mark.parametrize("seed", SEEDS)
def test_a_hostile_case_is_reported_in_order(place: Playground, seed: int) -> None:
    assert list(place.try_case(case(seed))) == []


@pytest.mark.parametrize("file", kept(), ids=lambda file: file.name)
def test_a_case_that_was_kept_is_reported_in_order(place: Playground, file: Path) -> None:
    assert list(place.try_case(case_of(file))) == []


def test_a_case_is_the_same_each_time() -> None:
    assert case(7) == case(7)
    assert case(7) != case(8)


def test_json_of_any_depth_is_written() -> None:
    value = {"a": [1, {"b": None, "c": []}, {}], "é": "x\n"}
    deep: hostile.Tree = 1
    for _ in range(100_000):
        deep = [deep]

    assert json.loads(texts.dump(value)) == value
    assert texts.dump(deep) == "[" * 100_000 + "1" + "]" * 100_000


def test_cases_that_end_the_worker_are_findings_and_the_others_go_on() -> None:
    # No case is done with so little memory, and none has a result; 0 seconds are no limit.
    slow = list(run_part(range(3, 5), deadline_seconds=0, memory_bytes=2**24))

    assert [done.seed for done in slow] == [3, 4]
    assert all("ended the process" in done.findings[0] for done in slow)


def test_a_total_counts_cases_and_objects() -> None:
    total = Total()
    for done in run_part(range(2), deadline_seconds=60, memory_bytes=_MEMORY):
        total.add(done)

    assert (total.cases, total.objects, total.findings) == (2, 20, 0)
    assert [list(part) for part in parts(1, 5, 2)] == [[1, 2, 3], [4, 5]]
