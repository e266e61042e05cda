"""
How fast is a migration, against a loop that only sends the same patches? ``make bench-migrate``.

On a real control plane. Each round flips the storage version twice: once for the bare loop, a small
Go program, and once for Espalier's engine, which also proves, verifies and trims (with no settle
time). Figures are medians over the rounds. The last line is one JSON object.
"""

import argparse
import asyncio
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
from tests.e2e.controlplane.assets import find_assets
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import Crd, schema, version

from benchmarks.relay import Relay
from espalier import cluster, engine
from espalier.crd import Condition, Definition
from espalier.engine import Ports, RunSettings

GROUP = "bench.example.com"
NAMESPACE = "default"
LOOP = Path(__file__).parent / "bareloop"
VERSIONS = ("v1", "v2")
CANDIDATES = ((8, False), (16, False), (24, False), (32, False), (16, True))
SPEC = {"payload": {"type": "string"}}

Figures = dict[str, float]


@dataclass(slots=True, kw_only=True)
class Round:
    """
    What one round has shown, of one of the two.
    """

    objects: int
    rewrite_seconds: float
    cpu_seconds: float
    total_seconds: float = 0.0
    verify_seconds: float = 0.0
    peak_rss_mib: float = 0.0


def main() -> None:
    """
    Measure, print a table for people, and the figures for machines.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--objects", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bytes", type=int, nargs="+", default=[1024, 5120])
    parser.add_argument("--engine", nargs=2, metavar=("KUBECONFIG", "CRD"))
    given = parser.parse_args()
    if given.engine:
        found = asyncio.run(_run_engine(*given.engine))
        print(orjson.dumps(found).decode())
        return
    with _control_plane() as plane:
        loop = _build_loop(plane.folder)
        figures: Figures = {}
        for size_bytes in given.bytes:
            figures |= _measure(plane, loop, given.objects, size_bytes, given.rounds)
    first = f"_{given.bytes[0]}"
    for name in ("rewrite_over_bare_loop", "objects_per_second", "peak_rss_mib"):
        figures[name] = figures[f"{name}{first}"]
    print(orjson.dumps({name: round(figure, 3) for name, figure in figures.items()}).decode())


def _measure(
    plane: ControlPlane, loop: Path, objects: int, size_bytes: int, rounds: int
) -> Figures:
    crd = Crd(plane, f"loads{size_bytes}", GROUP)
    _fill(crd, objects, size_bytes)
    bench = _Bench(plane=plane, crd=crd, loop=loop)
    bench.find_best()
    print(
        f"\n{objects} objects of {size_bytes} bytes; the bare loop is at its best with"
        f" {bench.workers} patches at a time over {'one connection' if bench.http2 else 'as many'}"
    )
    print(f"{'round':>5} {'bare/s':>8} {'engine/s':>9} {'ratio':>6} {'whole s':>8} {'RSS MiB':>8}")
    pairs: list[tuple[Round, Round]] = []
    for number in range(1, rounds + 1):
        bare, ours = bench.bare_round(), bench.engine_round()
        pairs.append((bare, ours))
        rates = objects / bare.rewrite_seconds, objects / ours.rewrite_seconds
        print(
            f"{number:>5} {rates[0]:>8.0f} {rates[1]:>9.0f} {rates[1] / rates[0]:>6.2f}"
            f" {ours.total_seconds:>8.1f} {ours.peak_rss_mib:>8.0f}",
            flush=True,
        )
    traffic = bench.traffic()
    crd.remove()
    return _figures(pairs, traffic, f"_{size_bytes}")


def _figures(
    pairs: Sequence[tuple[Round, Round]], traffic: dict[str, float], suffix: str
) -> Figures:
    def median(values: Iterator[float]) -> float:
        return statistics.median(values)

    figures = {
        "rewrite_over_bare_loop": median(
            bare.rewrite_seconds / ours.rewrite_seconds for bare, ours in pairs
        ),
        "bare_objects_per_second": median(b.objects / b.rewrite_seconds for b, _ in pairs),
        "objects_per_second": median(o.objects / o.rewrite_seconds for _, o in pairs),
        "verified_per_second": median(o.objects / o.verify_seconds for _, o in pairs),
        "whole_seconds": median(o.total_seconds for _, o in pairs),
        "cpu_us_per_object": median(o.cpu_seconds / o.objects * 1e6 for _, o in pairs),
        "bare_cpu_us_per_object": median(b.cpu_seconds / b.objects * 1e6 for b, _ in pairs),
        "peak_rss_mib": max(o.peak_rss_mib for _, o in pairs),
        **traffic,
    }
    return {f"{name}{suffix}": figure for name, figure in figures.items()}


@dataclass(slots=True, kw_only=True)
class _Bench:
    plane: ControlPlane
    crd: Crd
    loop: Path
    workers: int = 16
    http2: bool = False
    storage: str = VERSIONS[0]

    def find_best(self) -> None:
        """
        Try the bare loop in several ways, each on its share of the objects.
        """
        self._flip()
        share = len(self.crd.raw()) // len(CANDIDATES)
        rates = {}
        for number, (workers, http2) in enumerate(CANDIDATES):
            found = self._patch(workers, http2=http2, skip=number * share, take=share)
            rates[workers, http2] = found["objects"] / found["seconds"]
        self.workers, self.http2 = max(rates, key=lambda way: rates[way])
        self._patch(self.workers, http2=self.http2)

    def bare_round(self) -> Round:
        self._flip()
        found = self._patch(self.workers, http2=self.http2)
        return Round(
            objects=found["objects"],
            rewrite_seconds=found["seconds"],
            cpu_seconds=found["cpu_seconds"],
        )

    def engine_round(self) -> Round:
        self._flip()
        found = Round(**self._engine(self.plane.kubeconfig))
        if set(self.crd.stored_at()) != {self.storage} or len(self.crd.stored_versions()) > 1:
            raise SystemExit("the engine has left something behind")
        return found

    def traffic(self) -> dict[str, float]:
        """
        Count the bytes of an engine's run, over a relay that is too slow to be timed.
        """
        self._flip()
        with Relay(self.plane.url) as relay:
            text = self.plane.kubeconfig.read_text(encoding="utf-8")
            path = self.plane.folder / "relayed.kubeconfig"
            path.write_text(text.replace(self.plane.url, relay.url), encoding="utf-8")
            found = Round(**self._engine(path))
        return {
            "sent_bytes_per_object": relay.sent_bytes / found.objects,
            "received_bytes_per_object": relay.received_bytes / found.objects,
        }

    def _engine(self, kubeconfig: Path) -> dict[str, Any]:
        # Of the checkpoint of an earlier round it would know that only a new proof is needed.
        self.plane.api.delete("/api/v1/namespaces/bench/configmaps")
        command = [sys.executable, "-m", "benchmarks.migrate", "--engine"]
        return _json_of([*command, str(kubeconfig), self.crd.name])

    def _patch(self, workers: int, *, http2: bool, skip: int = 0, take: int = 0) -> dict[str, Any]:
        collection = f"{self.plane.url}{self.crd.objects_path(self.storage)}"
        return _json_of(
            [
                str(self.loop),
                f"-collection={collection}",
                f"-ca={self.plane.folder / 'ca.crt'}",
                f"-token={self.plane.token}",
                f"-workers={workers}",
                f"-http2={str(http2).lower()}",
                f"-skip={skip}",
                f"-take={take}",
            ]
        )

    def _flip(self) -> None:
        self.storage = VERSIONS[1 - VERSIONS.index(self.storage)]
        self.crd.set_versions(_versions(), storage=self.storage)
        # When a new object is stored at it, the server has taken it over.
        deadline = time.monotonic() + 30
        while True:
            path = self.crd.objects_path(self.storage)
            name = f"probe-{time.monotonic_ns()}"
            self.plane.api.post(path, self.crd.object(self.storage, name, spec={}))
            raw = self.plane.raw_get(f"{self.crd.raw_prefix}{NAMESPACE}/{name}")
            stored = orjson.loads(raw or b"{}").get("apiVersion", "").rpartition("/")[2]
            self.plane.api.delete(f"{path}/{name}")
            if stored == self.storage:
                return
            if time.monotonic() > deadline:
                raise SystemExit("the server does not take over the storage version")


def _fill(crd: Crd, objects: int, size_bytes: int) -> None:
    crd.create(_versions(), storage=VERSIONS[0])
    crd.label(mode="enforce")
    # What the server adds is some 500 bytes.
    payload = "x" * max(size_bytes - 500, 1)
    crd.add(
        VERSIONS[0],
        *(
            crd.object(VERSIONS[0], f"o{number:06}", spec={"payload": payload})
            for number in range(objects)
        ),
    )


def _versions() -> list[dict[str, Any]]:
    return [version(name, schema(SPEC)) for name in VERSIONS]


def _build_loop(folder: Path) -> Path:
    binary = folder / "bareloop"
    command = ["go", "build", "-buildvcs=false", "-o", str(binary), "."]
    subprocess.run(command, cwd=LOOP, check=True)  # noqa: S603 - our own source
    return binary


@contextmanager
def _control_plane() -> Iterator[ControlPlane]:
    plane = ControlPlane(find_assets())
    plane.start()
    try:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "bench"}}
        plane.api.post("/api/v1/namespaces", namespace)
        yield plane
    finally:
        plane.stop()


def _json_of(command: Sequence[str]) -> dict[str, Any]:
    ran = subprocess.run(command, check=True, stdout=subprocess.PIPE)  # noqa: S603 - ours
    found: dict[str, Any] = orjson.loads(ran.stdout)
    return found


@dataclass(slots=True)
class _Stopwatch:
    """
    Notes when a run went from one phase to the next.
    """

    begun: dict[str, float] = field(default_factory=dict)

    async def report(self, definition: Definition, conditions: Sequence[Condition]) -> None:
        del definition
        message = conditions[0].message
        phase = message.partition(":")[0].partition(" (")[0]
        if conditions[0].status == "True":
            phase = "done"
        self.begun.setdefault(phase, time.perf_counter())


async def _run_engine(kubeconfig: str, name: str) -> dict[str, float]:
    settings = RunSettings(settle_seconds=0, bytes_per_second=1 << 40)
    watch = _Stopwatch()
    async with cluster.connect(kubeconfig) as connected:
        ports = Ports(
            objects=connected.objects,
            definitions=connected.definitions,
            rights=connected.rights,
            checkpoints=connected.checkpoints("bench"),
            archive=connected.archive("bench"),
            leases=connected.leases("bench"),
            clock=connected.clock,
        )
        found = await connected.definitions.get_definition(name)
        begun, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
        outcome = await engine.run(found, ports, settings, watch)
    if not outcome.is_proved:
        raise SystemExit(f"not proved: {outcome.conditions}")
    used = resource.getrusage(resource.RUSAGE_SELF)
    moments = watch.begun
    objects = int(outcome.conditions[0].message.split()[1])
    return {
        "objects": objects,
        "rewrite_seconds": moments["verifying"] - moments["rewriting"],
        "verify_seconds": moments["done"] - moments["verifying"],
        "total_seconds": moments["done"] - begun,
        "cpu_seconds": used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime,
        "peak_rss_mib": used.ru_maxrss / 1024,
    }


if __name__ == "__main__":
    main()
