"""
Measure the speed of the schema core: ``make bench-schema``.

All compared times come from one run on the same objects. The last line is one JSON object.
"""

import copy
import functools
import gc
import math
import time
import timeit
from collections.abc import Callable
from typing import TypeVar

import orjson

from benchmarks.shapes import Node, grown, large_schema, shapes
from espalier import schema
from espalier.paths import JSON
from espalier.schema import Normalizer, Profile

# The fast path for objects that need no change is compiled only after some hundreds of them.
_WARMING = 2_000
_MANY = 600
_REPEATS = 9
_GROWN_BYTES = (1_000, 10_000, 100_000, 1_000_000)
_LARGE_SCHEMA_BYTES = 800_000

Figures = dict[str, float]
_T = TypeVar("_T")


def main() -> None:
    """
    Measure; print tables for people and the figures as JSON.
    """
    gc.disable()
    figures = _compare_shapes() | _grow() | _compile_large()
    print(orjson.dumps({name: round(figure, 3) for name, figure in figures.items()}).decode())


def _compare_shapes() -> Figures:
    print("Microseconds per object, profile apiserver, no managedFields.")
    print("normal: no changes. stale: a few. spoilt: changes in every third nested object.\n")
    print(f"{'object':8} {'state':7} {'deepcopy':>9} {'normalise':>10} {'loads':>7} {'ratio':>7}")
    ratios: dict[str, list[float]] = {"normal": [], "stale": [], "spoilt": []}
    figures: Figures = {}
    for shape in shapes():
        normalizer = _normalizer(shape.schema)
        for state, found in ratios.items():
            value: Node = getattr(shape, state)
            ratio = _compare(shape.name, state, value, normalizer)
            found.append(ratio)
            figures[f"{state}_{shape.name.replace(' ', '').replace('.', '_').lower()}"] = ratio
    means = {
        state: math.exp(sum(map(math.log, found)) / len(found)) for state, found in ratios.items()
    }
    print("\nRatio deepcopy / normalise, geometric mean of the three sizes:")
    for state, mean in means.items():
        print(f"  {state:7} {mean:6.2f}")
    return {
        "deepcopy_over_normalise": means["stale"],
        "deepcopy_over_normalise_spoilt": means["spoilt"],
        "deepcopy_over_already_normal": means["normal"],
        **figures,
    }


def _compare(name: str, state: str, value: Node, normalizer: Normalizer) -> float:
    changed = normalizer(value).value
    if (changed is value) != (state == "normal"):
        raise AssertionError(f"{name}: the {state} object is not what it is called")
    raw = orjson.dumps(value)
    calls = max(20, 200_000 // len(raw))
    copying, normalising, loading = _per_call(
        calls, lambda: copy.deepcopy(value), lambda: normalizer(value), lambda: orjson.loads(raw)
    )
    ratio = copying / normalising
    print(f"{name:8} {state:7} {copying:9.1f} {normalising:10.1f} {loading:7.1f} {ratio:7.2f}")
    return ratio


def _grow() -> Figures:
    print(
        "\nNanoseconds per byte of an object that needs a few changes, and of one that needs none:"
    )
    per_byte: dict[str, list[float]] = {"stale": [], "normal": []}
    for target in _GROWN_BYTES:
        shape = grown(target)
        normalizer = _normalizer(shape.schema)
        size = len(orjson.dumps(shape.normal))
        calls = max(3, 500_000 // size)
        for state, found in per_byte.items():
            value: Node = getattr(shape, state)
            [each] = _per_call(calls, functools.partial(normalizer, value))
            found.append(each * 1_000 / size)
        print(f"  {size:9} bytes {per_byte['stale'][-1]:7.2f} {per_byte['normal'][-1]:7.2f}")
    return {
        "ns_per_byte_1mb_over_10kb": per_byte["stale"][-1] / per_byte["stale"][1],
        "ns_per_byte_at_1mb": per_byte["stale"][-1],
    }


def _compile_large() -> Figures:
    raw = large_schema(_LARGE_SCHEMA_BYTES)
    size = len(orjson.dumps(raw))
    parsing, structural = _best_ms(lambda: schema.parse(raw, profile=Profile.APISERVER))
    # Without the cache, which would return the result at once.
    compiling, _ = _best_ms(
        lambda: schema.compile_normalizer.__wrapped__(structural, profile=Profile.APISERVER)
    )
    checking, errors = _best_ms(
        lambda: schema.check_structural(structural, profile=Profile.APISERVER)
    )
    if errors:
        raise AssertionError(errors[0])
    print(f"\nSchema of {size} bytes, milliseconds:")
    print(f"  parse {parsing:.1f}, compile {compiling:.1f}, structural check {checking:.1f}")
    return {
        "compile_800kb_ms": parsing + compiling,
        "parse_800kb_ms": parsing,
        "check_structural_800kb_ms": checking,
    }


def _normalizer(raw: JSON) -> Normalizer:
    structural = schema.parse(raw, profile=Profile.APISERVER)
    return schema.compile_normalizer(structural, profile=Profile.APISERVER)


def _best_ms(call: Callable[[], _T]) -> tuple[float, _T]:
    best, result = math.inf, call()
    for _ in range(_REPEATS):
        started = time.process_time()
        result = call()
        best = min(best, time.process_time() - started)
    return best * 1e3, result


def _per_call(calls: int, *measured: Callable[[], object]) -> list[float]:
    # Turns alternate, and the fastest turn by CPU time counts, since the machine may be busy.
    for call in measured:
        timeit.timeit(call, number=_WARMING if calls > _MANY else _MANY)
    turns = [
        [
            timeit.timeit(call, timer=time.process_time, number=calls) / calls * 1e6
            for call in measured
        ]
        for _ in range(_REPEATS)
    ]
    return [min(times) for times in zip(*turns, strict=True)]


if __name__ == "__main__":
    main()
