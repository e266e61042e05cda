from pathlib import Path

import pytest

from espalier import crd
from espalier.schema.validation.walk import check_value
from tests.cases import DEFAULT_FOLDER, messages, only_document

CASE = DEFAULT_FOLDER / "48-cel-rules"
OBJECTS = sorted(CASE.glob("object-*.yaml"))


def test_the_case_has_objects() -> None:
    assert len(OBJECTS) == 5


@pytest.mark.parametrize("file", OBJECTS, ids=lambda file: file.stem)
def test_an_object_of_the_case_is_judged_as_the_server_does(file: Path) -> None:
    definition = crd.read_definition(only_document(CASE / "crd.yaml"))
    told = only_document(CASE / "expect.yaml")["objects"]
    assert isinstance(told, dict)
    expected = told[file.name]
    assert isinstance(expected, dict)
    (version,) = definition.versions

    answer = check_value(only_document(file), crd.structural_of(version))

    assert sorted(map(str, answer.errors)) == messages(expected["errors"])
    assert answer.unchecked == ()
