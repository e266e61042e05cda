"""
Compares many made-up schemas, objects and definitions: ``python -m tests.differential``.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from random import SystemRandom

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from espalier.schema import recognizing
from tests.differential import coverage
from tests.differential.comparing import OPS, compare
from tests.differential.definitions import definitions, updates
from tests.differential.oracle import Oracle, has_go
from tests.differential.strategies import objects, roots

WITHOUT_VALUE = frozenset({"structural", "unfold", "strip", "publish-v2", "defaults-check"})


def compare_many(
    oracle: Oracle, op: str, *, examples: int, seed_number: int, hits: Counter[str] | None = None
) -> None:
    """
    Compare one operation on many examples; the first difference is shrunk and raised.

    Args:
        hits: Where to count the rules of the structural check that were hit.
    """
    counted = Counter[str]() if hits is None else hits

    @seed(seed_number)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def the_answers_are_the_same(data: st.DataObject) -> None:
        _example(op)(oracle, op, data, counted)

    with pytest.MonkeyPatch.context() as patch:
        # Each schema meets one object here, and recognition otherwise begins after hundreds.
        patch.setattr(recognizing, "_FIRST_PAUSE", 0)
        the_answers_are_the_same()


Example = Callable[[Oracle, str, st.DataObject, Counter[str]], None]


def _example(op: str) -> Example:
    return _definition_example if op == "crd-check" else _schema_example


def _schema_example(oracle: Oracle, op: str, data: st.DataObject, hits: Counter[str]) -> None:
    raw = data.draw(roots(), label="schema")
    value = None if op in WITHOUT_VALUE else data.draw(objects(raw), label="object")
    ours = compare(oracle, op, raw, value)
    if op == "structural":
        hits.update(coverage.rules_hit(raw, ours.get("errors")))


def _definition_example(oracle: Oracle, op: str, data: st.DataObject, hits: Counter[str]) -> None:
    del hits
    made = data.draw(definitions(), label="definition")
    if data.draw(st.booleans(), label="is an update"):
        new = data.draw(updates(made), label="update")
        compare(oracle, op, None, new, old=made)
    else:
        compare(oracle, op, None, made)


def main(arguments: Sequence[str]) -> int:
    """
    Run as the command line asks for; return the exit code.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tests.differential", description="Compare with the API server's packages."
    )
    parser.add_argument("--examples", type=int, default=20000, help="for each operation")
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(1 << 32))
    parser.add_argument("--ops", default="", help="only these, with commas between them")
    options = parser.parse_args(arguments)
    asked = list(filter(None, options.ops.split(","))) or [*OPS]
    unknown = sorted({*asked} - OPS.keys())
    if unknown:
        parser.error(f"no such operations: {', '.join(unknown)}")
    if not has_go():
        parser.error("Go is needed to build the API server's packages")
    _say(f"seed {options.seed}, {options.examples} examples for each operation")
    return _run(asked, options.examples, options.seed)


def _run(asked: Sequence[str], examples: int, seed_number: int) -> int:
    hits, differences = Counter[str](), 0
    with Oracle() as oracle:
        for op in asked:
            began = time.monotonic()
            try:
                compare_many(oracle, op, examples=examples, seed_number=seed_number, hits=hits)
            except AssertionError as error:
                differences += 1
                _say(f"{op}: DIFFERENT\n{error}\n" + "\n".join(getattr(error, "__notes__", ())))
            else:
                _say(f"{op}: the same, {time.monotonic() - began:.0f} s")
    if "structural" in asked:
        _say("Schemas that hit a rule of the structural check:")
        for line in coverage.render(hits):
            _say(line)
    _say(f"{len(asked) - differences} operations the same, {differences} different")
    return 1 if differences else 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
