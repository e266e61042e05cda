"""
Judges a folder of definitions with ``.oracle.json`` beside them: ``python -m tests.crds [FOLDER]``.

The oracle file holds the API server's verdict on the structure, and why it would refuse the
definition when it is created.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import orjson

from espalier import crd
from espalier.errors import EspalierError
from tests.cases import MismatchError, check_verdict, messages, only_document, report

DEFAULT_FOLDER = Path(__file__).parents[2] / "shared" / "crds"
"""Published CRDs; laid beside the checkout, never in it."""


def oracles(folder: Path) -> list[Path]:
    """
    Find the oracle files in a folder, at any depth; none if there is no such folder.
    """
    return sorted(folder.rglob("*.oracle.json")) if folder.is_dir() else []


def check(oracle: Path) -> None:
    """
    Judge the definition beside an oracle file.

    Raises:
        MismatchError: The API server's verdict is another.
    """
    told = orjson.loads(oracle.read_bytes())
    name = oracle.name.removesuffix(".oracle.json")
    found = sorted({*oracle.parent.glob(f"{name}.*yaml"), *oracle.parent.glob(f"{name}.yml")})
    if len(found) != 1:
        raise MismatchError(f"{len(found)} definitions beside it")
    manifest = only_document(found[0])
    check_verdict(manifest, told["nonStructuralSchema"], told["structuralError"])
    got = sorted(str(rejection) for rejection in crd.check_definition(manifest))
    expected = messages(told["createValidation"])
    if got != expected:
        raise MismatchError(f"refused for {got}, expected {expected}")


def _run(folder: Path) -> Iterator[tuple[str, Exception | None]]:
    for oracle in oracles(folder):
        name = str(oracle.relative_to(folder))
        try:
            check(oracle)
        except (EspalierError, MismatchError, OSError, ValueError, KeyError) as error:
            yield name, error
        else:
            yield name, None


def main(arguments: Sequence[str]) -> int:
    """
    Run as the command line asks for; return the exit code.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.crds", description="Judge CRDs.")
    parser.add_argument("folder", nargs="?", type=Path, default=DEFAULT_FOLDER)
    return report(_run(parser.parse_args(arguments).folder))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
