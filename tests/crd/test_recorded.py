"""
What an API server was seen to say of definitions, right and broken, and of updates.
"""

import re
from pathlib import Path

import orjson
import pytest

from espalier import crd
from espalier.errors import MalformedDefinitionError
from espalier.paths import JSON

RECORDED = orjson.loads(Path(__file__).parents[1].joinpath("data", "definitions.json").read_bytes())

# The server prints its structs here, internal ones and in the order of their fields.
DUMPS = re.compile(
    r"(Invalid value: ).*(: only \[Description|: must (contain unique version|have exactly one"
    r" version|only have a single schema)|: Only one reference)",
    re.DOTALL,
)


def ids(recorded: dict[str, JSON]) -> str:
    return str(recorded["id"])


def sorted_where_it_varies(texts: list[str]) -> list[str]:
    # Properties are visited in the order of Go's maps; all else is ordered.
    varies = [text for text in texts if ".properties[" in text or "unrecognized format" in text]
    return [*(text for text in texts if text not in varies), *sorted(varies)]


@pytest.mark.parametrize("recorded", [r for r in RECORDED if "errors" in r], ids=ids)
def test_a_definition_is_refused_as_the_server_refuses_it(recorded: dict[str, JSON]) -> None:
    found = crd.check_definition(recorded["new"], recorded.get("old"))

    told = list(dict.fromkeys(DUMPS.sub(r"\1*\2", str(rejection)) for rejection in found))
    expected = recorded["errors"]
    assert isinstance(expected, list)
    assert sorted_where_it_varies(told) == sorted_where_it_varies([*map(str, expected)])


@pytest.mark.parametrize("recorded", [r for r in RECORDED if "undecodable" in r], ids=ids)
def test_what_the_server_cannot_decode_is_malformed(recorded: dict[str, JSON]) -> None:
    with pytest.raises(MalformedDefinitionError):
        crd.check_definition(recorded["new"])


@pytest.mark.parametrize("recorded", [r for r in RECORDED if "errors" in r], ids=ids)
def test_a_definition_is_warned_of_as_the_server_does(recorded: dict[str, JSON]) -> None:
    warned = [str(found) for found in crd.server_warnings(recorded["new"], recorded.get("old"))]

    # What is refused is warned of only as far as it was decoded.
    told = [text for text in warned if not recorded["errors"] or text.startswith("unknown field")]
    expected = recorded["warnings"]
    assert isinstance(expected, list)
    assert sorted_where_it_varies(told) == sorted_where_it_varies([*map(str, expected)])
