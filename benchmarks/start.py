"""
Measure how long commands take to start: ``make bench-start``.

The last line is one JSON object: CPU seconds and MiB by command.
"""

import argparse
import os
import platform
import sys
from collections.abc import Mapping
from pathlib import Path

import orjson

from benchmarks.processes import Cost, cost_of, medians

_EXAMPLES = Path(__file__).parent.parent / "docs" / "examples"
_CRD, _OBJECT = str(_EXAMPLES / "widgets-structural.yaml"), str(_EXAMPLES / "widget.yaml")
_CHECK_COMPLETION = {"COMP_WORDS": "espalier ch", "COMP_CWORD": "1"}
_COMMANDS: Mapping[str, tuple[list[str], Mapping[str, str]]] = {
    "python -c pass": (["-c", "pass"], {}),
    "espalier version": (["-m", "espalier", "version"], {}),
    "espalier --help": (["-m", "espalier", "--help"], {}),
    "TAB": (["-m", "espalier"], {**_CHECK_COMPLETION, "_ESPALIER_COMPLETE": "bash_complete"}),
    "check FILE": (["-m", "espalier", "check", _CRD], {}),
    "check --update-of FILE FILE": (["-m", "espalier", "check", "--update-of", _CRD, _CRD], {}),
    "validate --crd FILE FILE": (["-m", "espalier", "validate", "--crd", _CRD, _OBJECT], {}),
    "prune --crd FILE FILE": (["-m", "espalier", "prune", "--crd", _CRD, _OBJECT], {}),
    "status --help": (["-m", "espalier", "status", "--help"], {}),
}


def main() -> None:
    """
    Measure; print a table for people and the figures as JSON.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    runs: dict[str, list[Cost]] = {name: [] for name in _COMMANDS}
    for _ in range(rounds):
        for name, (arguments, variables) in _COMMANDS.items():
            # Completion is asked for by a variable, and the program is called by its name.
            command = [sys.executable, *arguments]
            if name == "TAB":
                command = [str(Path(sys.executable).with_name("espalier"))]
            runs[name].append(cost_of(command, variables=variables))
    found = {name: medians(costs) for name, costs in runs.items()}
    load = os.getloadavg()[0]
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load {load:.1f}")
    print(f"Medians of {rounds}, in turns.\n\n{'':30} {'CPU seconds':>12} {'MiB':>6}")
    for name, cost in found.items():
        print(f"{name:30} {cost.cpu_seconds:12.3f} {cost.peak_mib:6.1f}")
    figures = {
        name: {"cpu_seconds": round(cost.cpu_seconds, 3), "mib": round(cost.peak_mib, 1)}
        for name, cost in found.items()
    }
    print(orjson.dumps(figures).decode())


if __name__ == "__main__":
    main()
