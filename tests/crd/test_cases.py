"""
What an API server was seen to make of the objects of the cases.
"""

import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from espalier import crd
from espalier.errors import MalformedValueError
from espalier.paths import JSON, render_unknown
from espalier.schema import Normalized
from espalier.schema.values import equal_json
from tests import cases
from tests.cases import only_document

CASES = cases.DEFAULT_FOLDER


class Seen(NamedTuple):
    case: str
    name: str
    expected: dict[str, JSON]


def seen() -> list[Seen]:
    found = []
    for case in sorted(CASES.iterdir()):
        objects = only_document(case / "expect.yaml").get("objects") or {}
        assert isinstance(objects, dict)
        for name, expected in sorted(objects.items()):
            assert isinstance(expected, dict)
            found.append(Seen(case.name, name, expected))
    return found


SEEN = seen()
DECODED = [found for found in SEEN if "result" in found.expected]


def decode(found: Seen) -> Normalized:
    definition = crd.read_definition(only_document(CASES / found.case / "crd.yaml"))
    return cases.decode(definition, only_document(CASES / found.case / found.name))


def test_there_are_objects() -> None:
    assert len(DECODED) > 40


@pytest.mark.parametrize("found", DECODED, ids=lambda found: f"{found.case}/{found.name}")
def test_an_object_is_decoded_as_the_server_does(found: Seen) -> None:
    decoded = decode(found)

    assert sorted(map(render_unknown, decoded.removed)) == found.expected["prunedPaths"]
    assert equal_json(decoded.value, found.expected["result"]), decoded.value


@pytest.mark.parametrize(
    "found",
    [found for found in SEEN if found not in DECODED],
    ids=lambda found: f"{found.case}/{found.name}",
)
def test_an_object_that_the_server_cannot_decode_is_malformed(found: Seen) -> None:
    with pytest.raises(MalformedValueError) as caught:
        decode(found)

    assert str(caught.value) == found.expected["decodeError"]


def test_the_folder_of_cases_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert cases.main([]) == 0
    assert capsys.readouterr().out.endswith(" passed, 0 failed\n")


def test_a_case_that_fails_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = tmp_path / "odd"
    shutil.copytree(CASES / "01-root-type-missing", case)
    expect = (case / "expect.yaml").read_text()
    (case / "expect.yaml").write_text(expect.replace("reason: Violations", "reason: Odd"))

    assert cases.main([str(tmp_path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("FAILED odd/crd.yaml: ")
    assert lines[-1].endswith(" passed, 1 failed")


def test_a_folder_without_cases_fails(tmp_path: Path) -> None:
    assert cases.main([str(tmp_path)]) == 1
