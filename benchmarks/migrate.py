"""
Compare a migration with a loop that only sends the same patches: ``make bench-migrate``.

It runs on a real control plane, on the same cores as the servers. The bare loop, a small Go
program, and Espalier's engine, which also proves, verifies and trims, have a definition each. In
each round the storage version of each definition is changed, and what migrates it runs. The engine
has proved its definition before the first round, so its record is complete: nothing can be lost,
and no object needs to be judged. Figures are medians over the rounds. The last line is one JSON
object.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from tests.e2e.controlplane.assets import find_assets
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import Crd, schema, version

from benchmarks.migrate_engine import CHECKPOINTS, EngineRun, run_engine
from benchmarks.migrate_figures import Figures, LoopRun, Round, figures_of, over_before, print_row
from benchmarks.migrate_idle import measure_idle
from benchmarks.migrate_in_tree import migrate_in_tree
from benchmarks.relay import Relay

GROUP = "bench.example.com"
NAMESPACE = "default"
LOOP = Path(__file__).parent / "bareloop"
VERSIONS = ("v1", "v2")
CANDIDATES = ((8, False), (16, False), (24, False), (32, False), (48, False), (16, True))
SPEC = {"payload": {"type": "string"}}
# The size of the metadata and of everything else besides the payload.
SERVERS_BYTES = 500
FLIP_SECONDS = 60.0
# After the change the server rebuilds its handlers and caches; that must not count for the first.
QUIET_SECONDS = 3.0

HEADLINES = (
    "rewrite_over_bare_loop",
    "whole_over_in_tree",
    "patches_per_object",
    "objects_per_second",
    "peak_rss_mib",
)


def main() -> None:
    """
    Measure; print tables for people and the figures as JSON.
    """
    given = _arguments()
    print("Objects per second; clients and servers share the cores. The engine's settle time is 0")
    print("and its byte budget is off; everything else is at its default. Client CPU and bytes are")
    print("per rewritten object. flat: the rate of the pass's second half divided by its first.")
    figures: Figures = {}
    with control_plane() as plane:
        loop = _build_loop(plane.folder)
        for size_bytes in given.bytes:
            found = _measure(plane, loop, given, size_bytes)
            figures |= {f"{name}_{size_bytes}": figure for name, figure in found.items()}
    if given.definitions:
        with control_plane() as plane:
            idle = measure_idle(plane, given.definitions)
        print(
            f"\nThe operator, idle in a cluster with {given.definitions} definitions:"
            f" {idle.resident_mib:.0f} MiB, {idle.peak_mib:.0f} MiB at its peak"
        )
        figures["idle_rss_mib"] = idle.resident_mib
    first = {name: figures.get(f"{name}_{given.bytes[0]}") for name in HEADLINES}
    figures |= {name: figure for name, figure in first.items() if figure is not None}
    print(orjson.dumps({name: round(figure, 3) for name, figure in figures.items()}).decode())


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.migrate")
    parser.add_argument("--objects", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bytes", type=int, nargs="+", default=[1024, 5120])
    parser.add_argument(
        "--definitions", type=int, default=1000, help="for the idle operator; 0 skips it"
    )
    parser.add_argument(
        "--in-tree",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="also time a StorageVersionMigration in each round, where it can be run",
    )
    parser.add_argument(
        "--workers", type=int, help="workers of the bare loop; else six settings are tried first"
    )
    parser.add_argument(
        "--before",
        type=_checkout,
        help="a checkout with a .venv whose engine runs too, on a definition of its own",
    )
    parser.add_argument("--no-traffic", action="store_true", help="skip the run that counts bytes")
    return parser.parse_args()


def _checkout(text: str) -> Path:
    # Its engine runs in that folder, where a relative path would lead elsewhere.
    return Path(text).resolve()


def _measure(
    plane: ControlPlane, loop: Path, given: argparse.Namespace, size_bytes: int
) -> Figures:
    def bench_of(name: str, checkout: Path | None = None) -> Bench:
        crd = Crd(plane, f"{name}{size_bytes}", GROUP)
        fill(crd, given.objects, size_bytes)
        return Bench(plane=plane, crd=crd, loop=loop, objects=given.objects, checkout=checkout)

    bare, engine = bench_of("loads"), bench_of("runs")
    if given.workers:
        bare.workers = given.workers
    else:
        bare.find_best()
    before = bench_of("befores", given.before) if given.before else None
    for one in filter(None, (engine, before)):
        one.prove_first()
    in_tree = bare if given.in_tree and plane.has_controller_manager else None
    rounds = list(_rounds(bare, engine, before, in_tree, given.rounds, size_bytes))
    figures = figures_of(given.objects, rounds)
    print_row("median", figures)
    if before is not None:
        figures |= over_before([(one.engine, one.before) for one in rounds if one.before])
        before.crd.remove()
    if not given.no_traffic:
        figures |= engine.traffic()
        print(
            f"bytes an object: sent {figures['sent_bytes_per_object']:.0f},"
            f" received {figures['received_bytes_per_object']:.0f}; bare"
            f" {figures['bare_sent_bytes_per_object']:.0f},"
            f" {figures['bare_received_bytes_per_object']:.0f}"
        )
    bare.crd.remove()
    engine.crd.remove()
    return figures


def _rounds(
    bare: "Bench",
    engine: "Bench",
    before: "Bench | None",
    in_tree: "Bench | None",
    rounds: int,
    size_bytes: int,
) -> Iterator[Round]:
    """
    Run all of them in turn; the order alternates, since the machine may become slower or faster.
    """
    print(
        f"\n{bare.objects} objects of {size_bytes} bytes; the bare loop sends"
        f" {bare.workers} patches at a time over {'one connection' if bare.http2 else 'as many'}"
    )
    print(
        f"{'round':>7} {'bare':>7} {'rewrite':>8} {'ratio':>6} {'verify':>7} {'whole':>8}"
        f" {'bare CPU':>9} {'CPU':>8} {'peak RSS':>9} {'flat':>5} {'in-tree':>8}"
    )
    for number in range(1, rounds + 1):
        if number % 2:
            loop, run = bare.bare(), engine.engine()
            other = before.engine() if before else None
        else:
            other = before.engine() if before else None
            run, loop = engine.engine(), bare.bare()
        found = Round(loop, run, other, in_tree.in_tree_seconds() if in_tree else None)
        print_row(f"{number}", figures_of(bare.objects, [found]))
        yield found


@dataclass(slots=True, kw_only=True)
class Bench:
    """
    One definition with objects, and what migrates them.

    Attributes:
        loop: The binary of the bare loop; None if it is not used.
        checkout: Where the engine is taken from; None for this checkout.
    """

    plane: ControlPlane
    crd: Crd
    objects: int
    loop: Path | None = None
    workers: int = 16
    http2: bool = False
    storage: str = VERSIONS[0]
    is_odd: bool = False
    checkout: Path | None = None

    def find_best(self) -> None:
        """
        Find the fastest settings of the bare loop; each is tried on a part of the objects.
        """
        self._flip()
        # Each is tried twice, so that none wins only because the machine was quiet just then.
        trials = [*CANDIDATES, *reversed(CANDIDATES)]
        share = max(self.objects // len(trials), 1)
        seconds = dict.fromkeys(CANDIDATES, 0.0)
        for number, way in enumerate(trials):
            workers, http2 = way
            found = self._patch(workers, http2=http2, skip=number * share, take=share)
            seconds[way] += found.seconds
        self.workers, self.http2 = min(seconds, key=lambda way: seconds[way])
        self._patch(self.workers, http2=self.http2)

    def prove_first(self) -> None:
        """
        Run the engine once, unmeasured, so that its record is complete from then on.
        """
        self._run_engine()
        self._check("the engine")

    def traffic(self) -> Figures:
        """
        Count the bytes of a run of the engine through a relay, which is too slow for timing.
        """
        self.begin()
        with Relay(self.plane.url) as relay:
            text = self.plane.kubeconfig.read_text(encoding="utf-8")
            path = self.plane.folder / "relayed.kubeconfig"
            path.write_text(text.replace(self.plane.url, relay.url), encoding="utf-8")
            found = asyncio.run(
                run_engine(
                    str(path),
                    self.crd.name,
                    count=lambda: (relay.sent_bytes, relay.received_bytes),
                )
            )
        return {
            "sent_bytes_per_object": found.sent_bytes / self.objects,
            "received_bytes_per_object": found.received_bytes / self.objects,
        }

    def in_tree_seconds(self) -> float:
        """
        Return the seconds of one migration by the server itself.
        """
        self._flip()
        seconds = migrate_in_tree(self.plane, self.crd)
        self._check("the StorageVersionMigration")
        return seconds

    def bare(self) -> LoopRun:
        """
        Run the bare loop.
        """
        self._flip()
        found = self._patch(self.workers, http2=self.http2)
        if found.objects != self.objects:
            raise SystemExit(f"the bare loop found {found.objects} objects")
        return found

    def engine(self) -> EngineRun:
        """
        Run the engine of this or of the other checkout.
        """
        self.begin()
        found = self._run_engine()
        self._check("the engine")
        if found.judged:
            raise SystemExit(f"{found.judged} objects were judged, though nothing can be lost")
        return found

    def _run_engine(self) -> EngineRun:
        python = self.checkout / ".venv/bin/python" if self.checkout else sys.executable
        module = "benchmarks.migrate_engine"
        command = [str(python), "-m", module, str(self.plane.kubeconfig), self.crd.name]
        return EngineRun(**_json_of(command, folder=self.checkout))

    def begin(self) -> None:
        """
        Move the storage version, so that all objects are to be rewritten by another run.
        """
        self._flip()
        # With the checkpoint of the round before, the engine would only verify the objects. This
        # label makes it another run; the record in the checkpoint must stay.
        self.is_odd = not self.is_odd
        self.crd.label(default="false" if self.is_odd else None)

    def _check(self, who: str) -> None:
        found, versions = self.crd.stored_at(), self.crd.stored_versions()
        if found != {self.storage: self.objects} or versions != [self.storage]:
            raise SystemExit(f"{who} left objects stored at {found}, storedVersions {versions}")

    def _patch(self, workers: int, *, http2: bool, skip: int = 0, take: int = 0) -> LoopRun:
        collection = f"{self.plane.url}{self.crd.objects_path(self.storage)}"
        command = [
            str(self.loop),
            f"-collection={collection}",
            f"-ca={self.plane.folder / 'ca.crt'}",
            f"-token={self.plane.token}",
            f"-workers={workers}",
            f"-http2={str(http2).lower()}",
            f"-skip={skip}",
            f"-take={take}",
        ]
        return LoopRun(**_json_of(command))

    def _flip(self) -> None:
        """
        Change the storage version, and wait until the server uses it.
        """
        self.storage = VERSIONS[1 - VERSIONS.index(self.storage)]
        self.crd.set_versions(_versions(), storage=self.storage)
        deadline = time.monotonic() + FLIP_SECONDS
        while self._stored_version_of_a_probe() != self.storage:
            if time.monotonic() > deadline:
                raise SystemExit("the server does not use the new storage version")
        time.sleep(QUIET_SECONDS)

    def _stored_version_of_a_probe(self) -> str:
        path = self.crd.objects_path(self.storage)
        name = f"probe-{time.monotonic_ns()}"
        self.plane.api.post(path, self.crd.object(self.storage, name, spec={}))
        raw = self.plane.raw_get(f"{self.crd.raw_prefix}{NAMESPACE}/{name}") or b"{}"
        self.plane.api.delete(f"{path}/{name}")
        return str(json.loads(raw).get("apiVersion", "")).rpartition("/")[2]


def fill(crd: Crd, objects: int, size_bytes: int) -> None:
    """
    Create the labelled definition and its objects.
    """
    crd.create(_versions(), storage=VERSIONS[0])
    crd.label(mode="enforce")
    spec = {"payload": "x" * max(size_bytes - SERVERS_BYTES, 1)}
    names = (f"o{number:06}" for number in range(objects))
    crd.add(VERSIONS[0], *(crd.object(VERSIONS[0], name, spec=spec) for name in names))


def _versions() -> list[dict[str, Any]]:
    return [version(name, schema(SPEC)) for name in VERSIONS]


def _build_loop(folder: Path) -> Path:
    binary = folder / "bareloop"
    command = ["go", "build", "-buildvcs=false", "-o", str(binary), "."]
    subprocess.run(command, cwd=LOOP, check=True)  # noqa: S603 - our own source
    return binary


@contextmanager
def control_plane(*, etcd_flags: Sequence[str] = ()) -> Iterator[ControlPlane]:
    """
    Run a control plane with the namespace of the checkpoints.
    """
    plane = ControlPlane(find_assets(), etcd_flags=etcd_flags)
    plane.start()
    try:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": CHECKPOINTS}}
        plane.api.post("/api/v1/namespaces", namespace)
        yield plane
    finally:
        plane.stop()


def _json_of(command: Sequence[str], folder: Path | None = None) -> dict[str, Any]:
    ran = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=folder)  # noqa: S603 - ours
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


if __name__ == "__main__":
    main()
