"""
Espalier's answers equal those of the API server's own packages, on made-up schemas and objects.

``make differential N=20000 SEED=1`` runs more of it.
"""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from tests.differential.comparing import OPS, compare
from tests.differential.oracle import Oracle, has_go
from tests.differential.strategies import objects, roots

EXAMPLES = int(os.environ.get("ESPALIER_DIFFERENTIAL_EXAMPLES", "100"))
SEED = int(os.environ.get("ESPALIER_DIFFERENTIAL_SEED", "1"))

pytestmark = [
    pytest.mark.skipif(not has_go(), reason="Go is needed to build the API server's packages"),
    pytest.mark.timeout(0),
]


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    with Oracle() as running:
        yield running


@pytest.mark.parametrize("op", OPS)
def test_the_api_servers_packages_answer_the_same(op: str, oracle: Oracle) -> None:
    @seed(SEED)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def the_answers_are_the_same(data: st.DataObject) -> None:
        schema = data.draw(roots(), label="schema")
        value = None if op == "structural" else data.draw(objects(schema), label="object")
        compare(oracle, op, schema, value)

    the_answers_are_the_same()
