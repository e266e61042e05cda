"""
Texts with a format as expressions see them: read, or refused in the server's words.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from espalier import schema
from espalier.paths import JSON
from espalier.schema import Profile
from espalier.schema.validation.walk import RULES

_DATA: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "data" / "cel-formats.json").read_text(encoding="utf-8")
)


def _errors(raw: JSON, old: JSON) -> list[str]:
    structural = schema.parse(raw, profile=Profile.APISERVER)
    assert structural is not None
    return [str(ruling.error) for ruling in RULES.judge(structural, {}, old=old)]


@pytest.mark.parametrize("row", _DATA["rows"], ids=lambda row: f"{row['format']} {row['text']!r}")
def test_a_text_is_read_or_refused_as_the_server_does(row: dict[str, Any]) -> None:
    raw: JSON = {
        "type": "object",
        "properties": {"a": {"type": "string", "format": row["format"]}},
        "x-kubernetes-validations": [{"rule": "oldSelf.a == oldSelf.a && false"}],
    }

    assert _errors(raw, {"a": row["text"]}) == row["errors"]


@pytest.mark.parametrize(
    ("rule", "detail"),
    [
        ("quantity('2') == quantity('1').add(1)", "'no such overload': call arguments"),
        ("quantity('1').add(1) == quantity('3')", "failed rule"),
        ("quantity('1').add(1) == quantity('2')", ""),
        ("[quantity('2')] == [quantity('1').add(1)]", ""),
    ],
)
def test_nothing_can_be_compared_with_a_sum_of_quantities(rule: str, detail: str) -> None:
    raw: JSON = {"type": "object", "x-kubernetes-validations": [{"rule": rule}]}

    errors = _errors(raw, None)

    assert [detail in error for error in errors] == [True] * (detail != "")
