"""
``make matrix``: the tests that matter with each release of Kubernetes, the rest with each Python.

Each row of the table is replaced when its version was run; a version that is not there is named.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.e2e.controlplane.assets import (
    GIVEN,
    NEWEST,
    AssetsError,
    older_assets,
    older_releases,
    version,
)
from tests.e2e.matrix import pythons
from tests.e2e.matrix.table import Row, write_rows

ROOT = Path(__file__).parents[3]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
WHAT_MATTERS = (
    "test_migration.py",
    "test_loss_attacks.py",
    "test_schema_changes.py",
    "test_legacy.py",
    "test_conversion.py",
    "test_admission.py",
    "test_interruptions.py",
    "test_old_clients.py",
    "test_observed_generation.py",
    "test_validation.py",
    "test_structural.py",
)
"""Of tests/e2e: migration, the guard against loss, legacy definitions, webhooks."""

CHAOS = ("--seed", "7", "--seconds", "600", "--kills", "5", "--objects", "600")
_CLOSING = re.compile(r"^(?:=+ )?((?:\d+ \w+, )*\d+ \w+) in [\d.]+s", re.MULTILINE)


def main(arguments: Sequence[str]) -> int:
    """
    Run what was asked for; return 1 if anything failed.
    """
    releases = older_releases()
    newest = ".".join(version().removeprefix("v").split(".")[:2])
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.matrix", description=__doc__)
    parser.add_argument("--kubernetes", action="append", choices=[*releases, newest])
    parser.add_argument("--python", action="append", choices=PYTHONS)
    parser.add_argument("--no-chaos", action="store_true", help="leave the short chaos out")
    given = parser.parse_args(arguments)
    asked = given.kubernetes is not None or given.python is not None
    rows: list[Row] = []
    for name in given.kubernetes or ([] if asked else [*releases, newest]):
        modules = releases.get(name, NEWEST)
        rows += _kept(_with_kubernetes(modules, with_chaos=not given.no_chaos))
    for name in given.python or ([] if asked else PYTHONS):
        rows += _kept(_with_python(name))
    return 0 if rows and all(row.is_passed for row in rows) else 1


def _kept(rows: Iterator[Row]) -> list[Row]:
    # Written at once: a matrix takes hours, and may be cut short.
    found = list(rows)
    write_rows(ROOT, found)
    return found


def _with_kubernetes(modules: Path, *, with_chaos: bool) -> Iterator[Row]:
    release = version(modules)
    environment = dict(os.environ)
    try:
        if modules != NEWEST:
            environment[GIVEN] = str(older_assets(modules))
    except AssetsError as error:
        _say(f"Kubernetes {release}: {error}")
        return
    tests = [f"tests/e2e/{name}" for name in WHAT_MATTERS]
    command = [sys.executable, "-m", "pytest", "-m", "e2e", "-q", "-p", "no:cacheprovider", *tests]
    result, is_passed = _pytest(f"Kubernetes {release}", command, environment)
    if with_chaos:
        chaos = [sys.executable, "-m", "tests.e2e.chaos", *CHAOS]
        _say(f"Kubernetes {release}: {' '.join(chaos[1:])}")
        ended = subprocess.run(chaos, cwd=ROOT, env=environment, check=False)
        is_passed = is_passed and ended.returncode == 0
        result += "; chaos passed" if ended.returncode == 0 else "; chaos failed"
    yield Row(f"Kubernetes {release.removeprefix('v')}", "e2e", result, _today(), is_passed)


def _with_python(name: str) -> Iterator[Row]:
    program = pythons.find(name)
    if program is None:
        _say(f"Python {name}: there is no python{name}; make debian-python can fetch it")
        return
    folder = ROOT / "build" / f"venv-{name}"
    made = subprocess.run(
        [_make(), "--no-print-directory", "venv", f"PYTHON={program}", f"VENV={folder}"],
        cwd=ROOT,
        check=False,
    )
    if made.returncode:
        yield Row(f"Python {name}", "unit", "cannot be installed", _today(), is_passed=False)
        return
    command = [str(folder / "bin" / "python"), "-m", "pytest", "-m", "not e2e", "-q"]
    command += ["-p", "no:cacheprovider", "-n", "2", "--dist", "worksteal"]
    result, is_passed = _pytest(f"Python {name}", command, dict(os.environ))
    number = subprocess.run(
        [str(folder / "bin" / "python"), "-c", "import platform; print(platform.python_version())"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    yield Row(f"Python {number}", "unit", result, _today(), is_passed)


def _pytest(title: str, command: Sequence[str], environment: dict[str, str]) -> tuple[str, bool]:
    _say(f"{title}: {' '.join(command[1:])}")
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        lines = []
        for line in running.stdout:
            sys.stderr.write(line)
            lines.append(line)
    closing = _CLOSING.findall("".join(lines))
    return closing[-1] if closing else "did not end", running.returncode == 0


def _make() -> str:
    program = shutil.which("make")
    if program is None:
        raise SystemExit("make is needed")
    return program


def _today() -> str:
    return time.strftime("%Y-%m-%d", time.gmtime())


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


sys.exit(main(sys.argv[1:]))
