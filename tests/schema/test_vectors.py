import json
from pathlib import Path

import pytest

from tests import vectors
from tests.vectors import Vector

EVERY = list(vectors.read_vectors(vectors.DEFAULT_FILE))
FOUND = list(vectors.read_vectors(vectors.FOUND_FILE))
BUILT = [vector for vector in EVERY if isinstance(vector, Vector)]

# The examples printed in the proposals: pruning, defaulting, declarative defaults, and structure.
SEED_EXAMPLES = (
    *(f"prune-seed002-ex{number:02}/kep" for number in range(1, 12)),
    *(f"normalize-seed002-ex{number:02}/kep" for number in range(1, 12)),
    *("default-seed000-ex1/kep", "default-seed000-ex2/kep", "default-seed000-ex3-undefined/kep"),
    *("default-seed000-ex3-null/kep", "default-seed000-ex3-empty/kep"),
    *("default-seed000-ex4-top-down/kep", "default-seed001-nonptr-null/kep"),
    *("default-seed001-ptr-empty/kep", "default-seed001-scalar-zero/kep"),
    *("default-seed001-list-default/kep", "default-seed001-map-nodefault/kep"),
    *("structural-property-type-missing-seed003/kep", "structural-seed003-intro-example/kep"),
    *("structural-seed003-litmus-ios-1/kep", "structural-seed003-litmus-ios-2/kep"),
    *("structural-seed003-litmus-raw-extension/kep", "structural-seed003-litmus-ip/kep"),
    *("structural-seed003-litmus-json/kep", "structural-seed003-litmus-string-map/kep"),
)


def test_what_was_found_on_the_way_is_run_by_the_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert vectors.main([str(vectors.FOUND_FILE)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"{len(FOUND)} passed, 0 failed"


@pytest.mark.parametrize("vector", BUILT, ids=lambda vector: vector.id)
def test_the_vector_holds(vector: Vector) -> None:
    got = vectors.run(vector)

    assert vectors.agrees(vector, got), got


def test_every_vector_is_understood() -> None:
    assert [found for found in EVERY if isinstance(found, str)] == []


def test_every_operation_is_built() -> None:
    ops = {vector.op for vector in (*EVERY, *FOUND) if isinstance(vector, Vector)}

    assert ops == vectors.OPS.keys()


def test_every_example_of_the_proposals_is_a_vector() -> None:
    assert set(SEED_EXAMPLES) - {vector.id for vector in BUILT} == set()


GOOD = {
    "id": "good",
    "op": "prune",
    "profile": "kep",
    "schema": {"type": "object"},
    "input": {"a": 1},
    "expected": {"object": {}},
}


def run_file(path: Path, content: object, *arguments: str) -> int:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return vectors.main([str(path), *arguments])


def test_a_file_of_good_vectors_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_file(tmp_path / "v.json", [GOOD]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "prune: 1 passed, 0 failed",
        "1 passed, 0 failed",
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"expected": {"object": {"a": 1}}},
        {"expected": {"object": {}, "unknown": []}},
        {"expected": {}},
        {"profile": "v1beta1"},
        {"op": "validate"},
        {"op": "dance"},
        {"options": {"strict": True}},
        {"options": {"nulls": "keep"}},
        {"op": "default", "options": {"nulls": "sometimes"}},
        {"op": "normalize", "options": {"metadata": "sometimes"}},
        {"op": "structural", "options": {"path": 5}},
        {"op": "condition", "input": {"kind": "Pod"}},
        {"schema": {"type": ["object"]}},
        {"id": 7},
    ],
    ids=str,
)
def test_a_vector_that_fails_or_is_not_understood_fails_the_run(
    change: dict[str, object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_file(tmp_path / "v.json", [GOOD, GOOD | {"id": "other"} | change]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "1 passed, 1 failed"


@pytest.mark.parametrize("key", sorted(GOOD))
def test_a_vector_without_a_key_fails_the_run(key: str, tmp_path: Path) -> None:
    lacking = {name: value for name, value in GOOD.items() if name != key}

    assert run_file(tmp_path / "v.json", [GOOD | {"id": "other"}, lacking]) == 1


def test_an_integer_is_no_float(tmp_path: Path) -> None:
    kept = {"type": "object", "properties": {"a": {"type": "number"}}}
    vector = GOOD | {"schema": kept, "input": {"a": 1}, "expected": {"object": {"a": 1.0}}}

    assert run_file(tmp_path / "v.json", [vector]) == 1


@pytest.mark.parametrize("content", ["", "{}", "[]", "[", '{"id": "x"}', "null"])
def test_a_malformed_file_fails_the_run(content: str, tmp_path: Path) -> None:
    assert run_file(tmp_path / "v.json", content) != 0


def test_a_missing_file_fails_the_run(tmp_path: Path) -> None:
    assert vectors.main([str(tmp_path / "none.json")]) == 2


def test_two_vectors_of_one_id_fail_the_run(tmp_path: Path) -> None:
    assert run_file(tmp_path / "v.json", [GOOD, GOOD]) == 1


@pytest.mark.parametrize(("ops", "code"), [("prune", 0), ("dance", 2), ("nulls", 1)])
def test_only_the_operations_asked_for_are_run(ops: str, code: int, tmp_path: Path) -> None:
    other = GOOD | {"id": "other", "op": "validate"}

    assert run_file(tmp_path / "v.json", [GOOD, other], "--ops", ops) == code


def test_the_default_file_passes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert vectors.main([]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"{len(BUILT)} passed, 0 failed"
