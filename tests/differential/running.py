"""
Compare answers for many generated schemas, objects and definitions.

``python -m tests.differential`` runs it.
"""

import argparse
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import SystemRandom
from typing import NamedTuple, Self
from unittest import mock

import orjson

from espalier.errors import MalformedDefinitionError
from espalier.schema.normalization import fast_path as recognizing
from tests.differential import coverage
from tests.differential.answering import OPS, Group
from tests.differential.comparing import compare
from tests.differential.making import groups
from tests.differential.oracle import Oracle, build, has_go
from tests.differential.shrinking import shrunk

CHUNK = 500
"""So many pairs are made, asked and compared at once."""

_UNRECOGNIZED_ONE_IN = 4
"""In so many chunks there is one without recognition of normal objects."""

_MOST_SHOWN = 5
_ENOUGH_FOR_COVERAGE = 20_000


class Chunk(NamedTuple):
    """
    A part of the work; a seed always gives the same parts.
    """

    op: str
    pairs: int
    seed: int
    number: int


@dataclass
class Tally:
    """
    The counts for one operation or one chunk.

    Attributes:
        different: The number of different answers.
        shown: Vectors for the first questions with different answers.
        hits: The number of schemas that hit each rule of the structural check.
    """

    pairs: int = 0
    asked_again: int = 0
    unchecked: int = 0
    seconds: float = 0
    different: int = 0
    shown: list[str] = field(default_factory=list)
    hits: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Tally") -> None:
        """
        Add the counts of a chunk.
        """
        self.pairs += other.pairs
        self.asked_again += other.asked_again
        self.unchecked += other.unchecked
        self.seconds += other.seconds
        self.different += other.different
        self.shown += other.shown
        self.hits += other.hits


class Comparison:
    """
    Generate questions and compare the answers; use it as a context manager.
    """

    def __init__(self, binary: Path) -> None:
        self._oracle = Oracle(binary)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """
        End the oracle.
        """
        self._oracle.close()

    def run(self, chunk: Chunk) -> Tally:
        """
        Compare the answers of a chunk, and shrink the first questions with different answers.
        """
        began = time.monotonic()
        made = groups(chunk.op, chunk.pairs, f"{chunk.seed}/{chunk.op}/{chunk.number}")
        tally = Tally(sum(len(group.values) for group in made))
        with _recognizing(at_once=chunk.number % _UNRECOGNIZED_ONE_IN > 0):
            outcome = compare(self._oracle, made)
            for group in outcome.different[:1]:
                tally.shown.append(self._vector(shrunk(group, self._differs)))
        if chunk.op == "structural":
            for group, (ours,) in zip(made, outcome.answers, strict=True):
                tally.hits.update(coverage.rules_hit(group.raw, ours.get("errors")))
        tally.different, tally.asked_again = len(outcome.different), outcome.asked_again
        tally.unchecked = outcome.unchecked
        tally.seconds = time.monotonic() - began
        return tally

    def _differs(self, group: Group) -> bool:
        try:
            return bool(compare(self._oracle, [group]).different)
        except MalformedDefinitionError:
            return False

    def _vector(self, group: Group) -> str:
        asked, fixed, _ = OPS[group.op]
        line = self._oracle.begin([group.question()]).lines()[0]
        ours = compare(self._oracle, [group]).answers[0][0]
        vector = {
            "op": asked,
            "profile": "apiserver",
            "schema": group.raw,
            "input": group.values[0],
            "options": {**fixed, "old": group.olds[0]} if group.olds else fixed,
            "expected": orjson.loads(line)["answers"][0],
        }
        return f"{orjson.dumps(vector).decode()}\n  ours: {orjson.dumps(ours).decode()}"


@contextmanager
def _recognizing(*, at_once: bool) -> Iterator[None]:
    # Each schema gets few objects here, but the fast path normally starts after hundreds.
    if not at_once:
        yield
        return
    with (
        mock.patch.object(recognizing, "_FIRST_PAUSE", 0),
        mock.patch.object(recognizing, "_LONGEST_PAUSE", 0),
    ):
        yield


def chunks(ops: Sequence[str], examples: int, seed: int) -> Iterator[Chunk]:
    """
    Return the parts of the work.
    """
    for op in ops:
        for number, begin in enumerate(range(0, examples, CHUNK)):
            yield Chunk(op, min(CHUNK, examples - begin), seed, number)


def main(arguments: Sequence[str]) -> int:
    """
    Run with the arguments of the command line; return the exit code.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tests.differential", description="Compare with the API server's packages."
    )
    parser.add_argument("--examples", type=int, default=20000, help="for each operation")
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(1 << 32))
    parser.add_argument("--ops", default="", help="only these, with commas between them")
    parser.add_argument("--workers", type=int, default=multiprocessing.cpu_count())
    options = parser.parse_args(arguments)
    asked = list(filter(None, options.ops.split(","))) or [*OPS]
    unknown = sorted({*asked} - OPS.keys())
    if unknown:
        parser.error(f"no such operations: {', '.join(unknown)}")
    if not has_go():
        parser.error("Go is needed to build the API server's packages")
    _say(f"seed {options.seed}, {options.examples} pairs for each operation")
    return _run([*chunks(asked, options.examples, options.seed)], options.workers)


_comparisons: list[Comparison] = []
"""The one of a worker's process."""


def _begin(binary: Path) -> None:
    _comparisons.append(Comparison(binary))


def _work(chunk: Chunk) -> tuple[Chunk, Tally]:
    return chunk, _comparisons[0].run(chunk)


def _run(work: Sequence[Chunk], workers: int) -> int:
    began = time.monotonic()
    waiting = Counter(chunk.op for chunk in work)
    tallies = {chunk.op: Tally() for chunk in work}
    with multiprocessing.get_context("spawn").Pool(workers, _begin, (build(),)) as pool:
        for chunk, tally in pool.imap_unordered(_work, work):
            whole = tallies[chunk.op]
            for vector in tally.shown[: _MOST_SHOWN - len(whole.shown)]:
                _say(f"{chunk.op}: DIFFERENT (chunk {chunk.number})\n  {vector}")
            whole.add(tally)
            waiting[chunk.op] -= 1
            if not waiting[chunk.op]:
                _say(_line(chunk.op, whole))
    failed = [op for op, tally in tallies.items() if tally.different]
    rare = _report_coverage(tallies["structural"]) if "structural" in tallies else False
    pairs = sum(tally.pairs for tally in tallies.values())
    _say(
        f"{len(tallies) - len(failed)} operations the same, {len(failed)} different:"
        f" {pairs} pairs in {time.monotonic() - began:.0f} s"
    )
    return 1 if failed or rare else 0


def _line(op: str, tally: Tally) -> str:
    said = "the same" if not tally.different else f"{tally.different} DIFFERENT"
    return (
        f"{op}: {said}, {tally.pairs} pairs, {tally.pairs / tally.seconds:.0f} a second and"
        f" worker, {tally.asked_again} of them asked again,"
        f" {tally.unchecked} not judged here"
    )


def _report_coverage(tally: Tally) -> bool:
    """
    Print the table; report whether a rule was hit too seldom.
    """
    _say("Schemas that hit a rule of the structural check:")
    for line in coverage.render(tally.hits):
        _say(line)
    return tally.pairs >= _ENOUGH_FOR_COVERAGE and bool(coverage.rare(tally.hits))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
