"""
The supervision of worker processes: a case that ends one is a finding, and the next one goes on.
"""

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

SILENT_SECONDS = 900
"""The most wall-clock time of a case: one that waits for ever uses no CPU time."""

_PART_CASES = 100
_LAST_LINES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """
    The result of one case.
    """

    seed: int
    findings: tuple[str, ...]
    objects: int = 0
    seconds: float = 0.0
    peak_bytes: int = 0


@dataclass(slots=True)
class Total:
    """
    The results of all cases.
    """

    cases: int = 0
    objects: int = 0
    findings: int = 0
    slowest: Done = field(default_factory=lambda: Done(seed=0, findings=()))
    peak_bytes: int = 0

    def add(self, done: Done) -> None:
        """
        Count a case.
        """
        self.cases += 1
        self.objects += done.objects
        self.findings += len(done.findings)
        self.slowest = max(self.slowest, done, key=lambda one: one.seconds)
        self.peak_bytes = max(self.peak_bytes, done.peak_bytes)

    def __str__(self) -> str:
        slowest = (
            f"slowest case {self.slowest.seconds:.1f} s of CPU time (seed {self.slowest.seed})"
        )
        memory = f"at most {self.peak_bytes >> 20} MiB"
        counts = f"{self.cases} definitions, {self.objects} objects, {self.findings} findings"
        return f"{counts}; {slowest}; {memory}"


def parts(seed: int, cases: int, processes: int) -> list[range]:
    """
    Divide cases among processes, in small parts.
    """
    size = max(1, min(_PART_CASES, -(-cases // processes)))
    end = seed + cases
    return [range(first, min(first + size, end)) for first in range(seed, end, size)]


def run_part(part: range, *, deadline_seconds: int, memory_bytes: int) -> Iterator[Done]:
    """
    Try the cases of a part; after one that ends the process, go on with the next.
    """
    left = part
    while left:
        with tempfile.TemporaryFile() as errors:
            limits = (str(deadline_seconds), str(memory_bytes))
            process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "tests.fuzz.worker",
                    str(left.start),
                    str(left.stop),
                    *limits,
                ],
                stdout=subprocess.PIPE,
                bufsize=0,
                stderr=errors,
                env=os.environ | {"PYTHONHASHSEED": "0"},
            )
            begun = left.start
            for line in _lines(process):
                begun = line["seed"]
                if "findings" in line:
                    yield Done(**{**line, "findings": tuple(line["findings"])})
                    begun += 1
            process.communicate()
            errors.seek(0)
            if begun < left.stop:
                yield Done(seed=begun, findings=(_ending(process.returncode, errors.read()),))
                begun += 1
        left = range(begun, left.stop)


def _lines(process: subprocess.Popen[bytes]) -> Iterator[Mapping[str, Any]]:
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while selector.select(SILENT_SECONDS):
            line = process.stdout.readline()
            if not line:
                return
            yield json.loads(line)
    process.kill()


def _ending(code: int, errors: bytes) -> str:
    if code == -signal.SIGPROF:
        return "took more than its CPU time"
    if code == -signal.SIGKILL:
        return "waited for ever"
    shown = " | ".join(errors.decode(errors="replace").splitlines()[-_LAST_LINES:])
    return f"ended the process with {code}: {shown}"
