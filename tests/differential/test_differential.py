"""
Espalier's answers equal those of the API server's own packages, on made-up schemas and objects.

``make differential N=20000 SEED=1`` runs more of it.
"""

import os
from collections.abc import Iterator

import pytest

from tests.differential.comparing import OPS
from tests.differential.oracle import Oracle, has_go
from tests.differential.running import compare_many

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
    compare_many(oracle, op, examples=EXAMPLES, seed_number=SEED)
