"""
What an API server was seen to make of the objects of the cases.
"""

from pathlib import Path
from typing import NamedTuple

import pytest

from espalier import crd, schema
from espalier.cli.reading import read_documents
from espalier.errors import MalformedValueError
from espalier.paths import JSON, render_path
from espalier.schema import Normalized, Profile

CASES = Path(__file__).parents[1] / "data" / "cases"


class Seen(NamedTuple):
    case: str
    name: str
    expected: dict[str, JSON]


def only(path: Path) -> dict[str, JSON]:
    (document,) = read_documents(str(path))
    assert isinstance(document.value, dict)
    return document.value


def seen() -> list[Seen]:
    found = []
    for case in sorted(CASES.iterdir()):
        objects = only(case / "expect.yaml").get("objects") or {}
        assert isinstance(objects, dict)
        for name, expected in sorted(objects.items()):
            assert isinstance(expected, dict)
            found.append(Seen(case.name, name, expected))
    return found


SEEN = seen()
DECODED = [found for found in SEEN if "result" in found.expected]


def decode(found: Seen) -> Normalized:
    definition = crd.read_definition(only(CASES / found.case / "crd.yaml"))
    obj = only(CASES / found.case / found.name)
    named = str(obj["apiVersion"]).rpartition("/")[2]
    # A version that there is not specifies nothing.
    schemas = {version.name: crd.structural_of(version) for version in definition.versions}
    return schema.normalize(
        obj,
        schemas.get(named),
        profile=Profile.APISERVER,
        preserve_unknown_fields=definition.preserve_unknown_fields,
    )


def test_there_are_objects() -> None:
    assert len(DECODED) > 40


@pytest.mark.parametrize("found", DECODED, ids=lambda found: f"{found.case}/{found.name}")
def test_an_object_is_decoded_as_the_server_does(found: Seen) -> None:
    decoded = decode(found)

    assert sorted(map(render_path, decoded.removed)) == found.expected["prunedPaths"]
    assert schema.equal_json(decoded.value, found.expected["result"]), decoded.value


@pytest.mark.parametrize(
    "found",
    [found for found in SEEN if found not in DECODED],
    ids=lambda found: f"{found.case}/{found.name}",
)
def test_an_object_that_the_server_cannot_decode_is_malformed(found: Seen) -> None:
    with pytest.raises(MalformedValueError) as caught:
        decode(found)

    assert str(caught.value) == found.expected["decodeError"]
