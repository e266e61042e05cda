"""
Espalier's answers equal those of the API server's packages for generated schemas and objects.

``make differential N=20000 SEED=1`` compares more of them.
"""

import os
from collections.abc import Iterator

import orjson
import pytest

from tests.differential import coverage, making
from tests.differential.answering import OPS
from tests.differential.oracle import Oracle, build, has_go
from tests.differential.running import CHUNK, Comparison, Tally, chunks

PAIRS = int(os.environ.get("ESPALIER_DIFFERENTIAL_PAIRS", str(4 * CHUNK)))
SEED = int(os.environ.get("ESPALIER_DIFFERENTIAL_SEED", "1"))

# The server needs much time for definitions with rules.
_SLOWER = {"crd-rules": 4, "crd-deep-rules": 8, "deep-rules": 8}

needs_go = pytest.mark.skipif(
    not has_go(),
    reason="the API server's packages are compared by a program in Go: install Go and run again",
)


@pytest.fixture(scope="module")
def comparison() -> Iterator[Comparison]:
    with Comparison(build()) as running:
        yield running


@needs_go
@pytest.mark.timeout(0)
@pytest.mark.parametrize("op", OPS)
def test_the_api_servers_packages_answer_the_same(op: str, comparison: Comparison) -> None:
    whole = Tally()

    pairs = PAIRS // _SLOWER.get(op, 1)
    for chunk in chunks([op], pairs, SEED):
        whole.add(comparison.run(chunk))

    assert whole.shown == []
    assert whole.different == 0
    assert whole.pairs >= pairs
    assert op != "structural" or coverage.rare(whole.hits) == []


@needs_go
@pytest.mark.timeout(0)
def test_a_chunk_is_the_same_whenever_it_is_made(comparison: Comparison) -> None:
    (chunk,) = chunks(["structural"], CHUNK, SEED)

    assert comparison.run(chunk).hits == comparison.run(chunk).hits


@needs_go
@pytest.mark.timeout(0)
def test_most_rules_that_are_made_compile_and_many_are_evaluated() -> None:
    groups = making.groups("rules", CHUNK, f"{SEED}/rules")

    with Oracle() as oracle:
        compiled = [oracle.ask("cel-compile", group.raw, None)["rules"] for group in groups]
        lines = oracle.begin([group.question() for group in groups]).lines()

    rules = [rule for told in compiled if isinstance(told, list) for rule in told]
    good = [rule for rule in rules if isinstance(rule, dict) and "error" not in rule]
    answers = [answer for line in lines for answer in orjson.loads(line)["answers"]]
    assert len(good) > 0.7 * len(rules)
    assert sum(answer["cost"] > 0 for answer in answers) > 0.7 * len(answers)
