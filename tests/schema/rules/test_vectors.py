import pytest

from espalier.schema import Profile
from espalier.schema.parsing import parse
from espalier.schema.rules.judge import CelJudge
from espalier.schema.rules.port import RuleOutcome
from espalier.schema.validation.walk import validate
from tests import vectors
from tests.vectors import Vector

WITH_RULES = [
    vector
    for vector in vectors.read_vectors(vectors.DEFAULT_FILE)
    if isinstance(vector, Vector) and vector.op == "validate" and "cel" in vector.needs
]
BLOCKING = "some validation rules were not checked"


def test_there_are_vectors_with_rules() -> None:
    assert len(WITH_RULES) == 10


@pytest.mark.parametrize("vector", WITH_RULES, ids=lambda vector: vector.id)
def test_rules_have_against_a_value_what_the_server_has(vector: Vector) -> None:
    structural = parse(vector.schema, profile=Profile.APISERVER)
    assert structural is not None
    assert isinstance(vector.expected, dict)
    expected = vector.expected["errors"]
    if validate(vector.input, structural, profile=Profile.APISERVER):
        # What blocks the rules is for whoever asks the judge.
        assert BLOCKING in str(expected)
        return

    rulings = CelJudge().judge(structural, vector.input, old=vector.options.get("old"))

    assert {ruling.outcome for ruling in rulings} <= {RuleOutcome.VIOLATED}
    assert [str(ruling.error) for ruling in rulings] == expected
