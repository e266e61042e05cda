"""
Compare what Espalier knows of older API servers with the packages of three of them.

``python -m tests.differential.older_servers`` runs it; building the three takes long.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import NamedTuple

import orjson

from espalier import crd
from espalier.crd.advice.server_versions import needs
from espalier.crd.definition import read_definition
from espalier.paths import JSON
from tests.differential import definitions
from tests.differential.dice import Dice
from tests.differential.expressions import BOOL, INT, INTS, MAP, STRING, STRINGS, Grammar
from tests.differential.oracle import Oracle, cache_folder
from tests.differential.worsening import Node

MINORS = (29, 31, 34)
"""The minor versions that are compared; each has a file of modules in the folder ``older``."""

SOURCE = Path(__file__).parent / "older"
_CHUNK = 200
_COSTS = ("exceeds budget", "exceeding cost limit")
_REACHABLE = {
    INT: ["self.n"],
    STRING: ["self.s"],
    INTS: ["self.l"],
    STRINGS: ["self.t"],
    MAP: ["self.m"],
}
_TEXT: Node = {"type": "string", "maxLength": 5}
_PROPERTIES: Node = {
    "n": {"type": "integer"},
    "s": _TEXT,
    "l": {"type": "array", "maxItems": 3, "items": {"type": "integer"}},
    "t": {"type": "array", "maxItems": 3, "items": _TEXT},
    "m": {"type": "object", "maxProperties": 3, "additionalProperties": _TEXT},
    "selected": {"type": "string"},
}
_FORMATS = ("k8s-short-name", "k8s-long-name", "uuid", "date", "ipv4", "duration", "hostname")


class Difference(NamedTuple):
    """
    A definition that an older server judges otherwise.

    Attributes:
        ours: What Espalier says that the server lacks.
        theirs: The server's answer.
    """

    manifest: JSON
    ours: list[str]
    theirs: JSON


def build(minor: int) -> Path:
    """
    Build the program with the packages of a minor version if necessary.
    """
    binary = cache_folder() / f"older-{minor}"
    binary.parent.mkdir(parents=True, exist_ok=True)
    modules = f"-modfile=v{minor}.mod"
    subprocess.run(  # noqa: S603 - our own source, with the user's toolchain
        ["go", "build", modules, "-trimpath", "-buildvcs=false", "-o", str(binary), "."],  # noqa: S607
        cwd=SOURCE,
        env={**os.environ, "CGO_ENABLED": "0"},
        check=True,
    )
    return binary


def manifests(count: int, seed: str) -> Iterator[Node]:
    """
    Yield definitions that a server of 1.37 accepts.
    """
    dice = Dice(Random(seed))  # noqa: S311 - a seed must give the same
    while count > 0:
        made = _manifest(dice)
        if not crd.check_definition(made):
            count -= 1
            yield made


def differences(minor: int, count: int, seed: str) -> Iterator[Difference]:
    """
    Yield what differs among so many definitions.
    """
    made = [*manifests(count, seed)]
    with Oracle(build(minor)) as oracle:
        for begin in range(0, len(made), _CHUNK):
            chunk = made[begin : begin + _CHUNK]
            (line,) = oracle.begin([{"inputs": [*chunk]}]).lines()
            for manifest, theirs in zip(chunk, orjson.loads(line)["answers"], strict=True):
                found = [*needs(read_definition(manifest), manifest, minor)]
                refused = any(need.is_refused for need in found)
                # What it removes may be what the rule needs.
                ignored = {
                    need.name
                    for need in found
                    if not need.is_refused or need.name == "optionalOldSelf"
                }
                if refused != _refuses(theirs) or ignored != _ignores(theirs):
                    yield Difference(manifest, [need.detail for need in found], theirs)


def _refuses(theirs: dict[str, JSON]) -> bool:
    errors = theirs.get("errors")
    assert isinstance(errors, list), theirs
    return any(not any(cost in str(error) for cost in _COSTS) for error in errors)


def _ignores(theirs: dict[str, JSON]) -> set[str]:
    found: set[str] = set()
    for name in ("dropped", "formats"):
        listed = theirs[name]
        found |= {str(each) for each in listed} if isinstance(listed, list) else set()
    unknown = theirs["unknown"]
    for text in unknown if isinstance(unknown, list) else []:
        found.add(str(text).rstrip('"').split(".")[-1])
    return found


def _manifest(dice: Dice) -> Node:
    properties = deepcopy(_PROPERTIES)
    if dice.seldom(4):
        properties["f"] = {"type": "string", "format": dice.pick(_FORMATS)}
    grammar = Grammar(dice, _REACHABLE)
    rule: Node = {"rule": grammar.expression(BOOL, 1 + dice.count(1))}
    if dice.seldom(8):
        rule["messageExpression"] = grammar.expression(STRING, 1)
    if dice.seldom(8):
        rule["reason"] = "FieldValueForbidden"
    if dice.seldom(8):
        rule["fieldPath"] = ".n"
    if dice.seldom(8):
        rule["rule"] = "oldSelf.hasValue() || self.n > 0"
        rule["optionalOldSelf"] = True
    made = definitions.plain(
        {"type": "object", "properties": properties, "x-kubernetes-validations": [rule]}
    )
    spec = made["spec"]
    assert isinstance(spec, dict)
    versions = spec["versions"]
    assert isinstance(versions, list)
    if dice.seldom(8):
        assert isinstance(versions[0], dict)
        versions[0]["selectableFields"] = [{"jsonPath": ".selected"}]
    return made


def main(arguments: Sequence[str]) -> int:
    """
    Run with the arguments of the command line; return the exit code.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.differential.older_servers")
    parser.add_argument("--examples", type=int, default=2000, help="for each version")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--minors", default=",".join(map(str, MINORS)))
    options = parser.parse_args(arguments)
    failed = False
    for minor in map(int, options.minors.split(",")):
        found = [*differences(minor, options.examples, options.seed)]
        for each in found[:20]:
            sys.stdout.write(f"{orjson.dumps(each).decode()}\n")
        sys.stdout.write(f"1.{minor}: {len(found)} of {options.examples} differ\n")
        failed = failed or bool(found)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
