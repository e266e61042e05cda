"""
Measure the speed of validation: ``make bench-validate``.

All compared times come from one run on the same objects and prepared schemas. The last line is one
JSON object.
"""

import argparse
import functools
import gc
import math
import time
import timeit
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import orjson

from benchmarks.shapes import Node
from benchmarks.validate_commands import compare_commands
from benchmarks.validate_objects import (
    KUBERNETES,
    Subject,
    as_json_schema,
    deployment,
    subjects,
    unconstrained,
)
from espalier import schema
from espalier.schema import Profile
from espalier.schema.prefilter.screen import ScreenedValidation

Figures = dict[str, float]

_TURNS = 7
_SHORTEST_TURN_SECONDS = 0.02
_FAULTS = 3


def main() -> None:
    """
    Measure; print tables for people and the figures as JSON.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("definitions", nargs="*", type=Path, help="for the command lines")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--commands-only", action="store_true")
    arguments = parser.parse_args()
    commands = compare_commands(arguments.definitions, rounds=arguments.rounds)
    figures = {} if arguments.commands_only else _compare_engines()
    figures |= commands
    print(orjson.dumps({name: round(figure, 3) for name, figure in figures.items()}).decode())


def _compare_engines() -> Figures:
    gc.disable()
    print("\nObjects per second. Schemas are prepared before; only kubernetes-validate reads them")
    print("for each object. Invalid objects have three violations, and all are reported.")
    figures = _compare_sizes("constrained", subjects())
    figures |= _compare_sizes("types_only", unconstrained())
    figures |= _compare_deployment()
    figures["espalier_over_jsonschema"] = figures["constrained_valid_espalier_over_jsonschema"]
    return figures


def _compare_sizes(title: str, compared: Iterable[Subject]) -> Figures:
    _print_head(title)
    ratios: dict[str, list[float]] = {}
    figures: Figures = {}
    for subject in compared:
        for name, figure in _compare(subject, {}).items():
            ratios.setdefault(f"{title}_{name}", []).append(figure)
        each = ratios[f"{title}_valid_espalier_over_jsonschema"][-1]
        figures[f"{title}_{subject.name.replace(' ', '').replace('.', '_').lower()}"] = each
    means = {
        name: math.exp(sum(map(math.log, found)) / len(found)) for name, found in ratios.items()
    }
    return means | figures


def _compare_deployment() -> Figures:
    subject = deployment()
    _print_head("built-in kind")
    check: dict[str, Callable[[Node], object]] = {"kubernetes-validate": _kubernetes_error}
    return {f"deployment_{name}": figure for name, figure in _compare(subject, check).items()}


def _print_head(title: str) -> None:
    names = ("espalier", "exact engine", "jsonschema", "kubernetes-validate")
    print(f"\n{title:14} {'':8} " + " ".join(f"{name:>19}" for name in names) + f" {'ratio':>7}")


def _compare(subject: Subject, others: dict[str, Callable[[Node], object]]) -> Figures:
    """
    Measure one subject, print two rows, and return the ratios of the rates.
    """
    structural = schema.parse(subject.schema, profile=Profile.APISERVER)
    fast = ScreenedValidation(structural, Profile.APISERVER).validate
    exact = functools.partial(schema.validate, structural=structural, profile=Profile.APISERVER)
    validator = jsonschema.Draft4Validator(as_json_schema(subject.schema))
    checks: dict[str, Callable[[Node], object]] = {
        "espalier": fast,
        "exact": exact,
        "jsonschema": lambda value: [*validator.iter_errors(value)],
        **others,
    }
    _require_agreement(subject, checks)
    figures: Figures = {}
    for state, value in (("valid", subject.valid), ("invalid", subject.invalid)):
        rates = _per_second({name: functools.partial(each, value) for name, each in checks.items()})
        shown = " ".join(f"{rate:19,.0f}" for rate in rates.values())
        ratio = rates["espalier"] / rates["jsonschema"]
        print(f"{subject.name:14} {state:8} {shown:79} {ratio:7.1f}")
        figures |= {
            f"{state}_espalier_over_{name.replace('-', '_')}": rates["espalier"] / rate
            for name, rate in rates.items()
            if name != "espalier"
        }
        figures[f"{state}_exact_over_jsonschema"] = rates["exact"] / rates["jsonschema"]
    return figures


def _require_agreement(subject: Subject, checks: dict[str, Callable[[Node], Any]]) -> None:
    for name, check in checks.items():
        if check(subject.valid):
            raise AssertionError(f"{name} refuses the valid {subject.name}")
        if not check(subject.invalid):
            raise AssertionError(f"{name} accepts the invalid {subject.name}")
    for name in ("espalier", "exact", "jsonschema"):
        if len(checks[name](subject.invalid)) < _FAULTS:
            raise AssertionError(f"{name} finds too few violations in the invalid {subject.name}")


def _kubernetes_error(value: Node) -> object:
    try:
        kubernetes_validate.validate(value, KUBERNETES)
    except kubernetes_validate.ValidationError as error:
        return error
    return None


def _per_second(checks: dict[str, Callable[[], object]]) -> dict[str, float]:
    # Turns alternate, and the fastest turn by CPU time counts, since the machine may be busy.
    calls = {name: _calls(check) for name, check in checks.items()}
    best = dict.fromkeys(checks, math.inf)
    for _ in range(_TURNS):
        for name, check in checks.items():
            spent = timeit.timeit(check, timer=time.process_time, number=calls[name])
            best[name] = min(best[name], spent / calls[name])
    return {name: 1 / seconds for name, seconds in best.items()}


def _calls(check: Callable[[], object]) -> int:
    check()
    calls = 1
    while timeit.timeit(check, timer=time.process_time, number=calls) < _SHORTEST_TURN_SECONDS:
        calls *= 2
    return calls


if __name__ == "__main__":
    main()
