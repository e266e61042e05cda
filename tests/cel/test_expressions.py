import json
from pathlib import Path
from typing import Any

import pytest

from espalier.cel.environment import FUNCTIONS
from tests.cel.evaluating import Evaluator

RECORDED: dict[str, Any] = json.loads(
    Path(__file__).parents[1].joinpath("data", "cel.json").read_text()
)
CASES: list[dict[str, Any]] = RECORDED["cases"]
EVALUATOR = Evaluator(RECORDED["schema"], RECORDED["value"], RECORDED["old"])
# Written by people, or made by macros.
HIDDEN = ("_", "@", "-_", "!_", "cel.")
# Without an authorizer nothing can be asked; the newest function is for stored rules only.
UNREACHABLE = {"includes", "serviceAccount", "group", "resource", "subresource", "namespace"}
UNREACHABLE |= {"name", "errored", "error", "reason", "fieldSelector", "labelSelector"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["expression"][:60])
def test_an_expression_is_what_it_is_to_the_server(case: dict[str, Any]) -> None:
    expected = {name: told for name, told in case.items() if name != "expression"}

    assert EVALUATOR.tell(case["expression"]) == expected


def test_every_function_is_called_in_some_expression() -> None:
    texts = " ".join(case["expression"] for case in CASES)

    missing = {name for name in FUNCTIONS if f"{name}(" not in texts}

    assert {name for name in missing if not name.startswith(HIDDEN)} - UNREACHABLE == set()
