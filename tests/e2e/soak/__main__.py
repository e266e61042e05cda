"""
``make soak``: hundreds of faults while definitions are migrated again and again.

Writers change, create and delete objects, the storage version goes back and forth with another
schema each time, two replicas of the operator work behind a relay, and everything is killed, cut,
held up or filled by chance; once, etcd is restored from a copy. All that is asserted comes from
etcd and the audit logs. A run is told apart by its seed; its figures are a line of JSON.
"""

import argparse
import json
import random
import secrets
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from espalier.engine.ports.state import Bucket
from tests.e2e.chaos.demanding import ChaosError, demand, insist, say
from tests.e2e.chaos.writing import Writer
from tests.e2e.crds import Crd, Document, schema, version
from tests.e2e.installing import grant_objects
from tests.e2e.soak import records
from tests.e2e.soak.disk import enter_own_mounts
from tests.e2e.soak.evidence import (
    erased_fields,
    false_trims,
    fenced_writes,
    lost_objects,
    tenures_of,
    trims_of,
    writes_of,
)
from tests.e2e.soak.faults import Faults
from tests.e2e.soak.keeping import NAMES, VALUE, Keeper
from tests.e2e.soak.world import World
from tests.patience import PACE, Deadline

OBJECTS, HIDDEN, WRITERS, FAULTS = 10_000, 20, 3, 100
LEASE = Bucket(0, 1).name
TICK_SECONDS = 0.05
STORM = (4, 16)
BETWEEN_SECONDS = (0.0, 2.0)
CALMS_SECONDS = (0.0, 5.0, 10.0, 90.0)
"""The longest of them mostly lasts until a run has ended; the others interrupt it."""

PROOF_SECONDS = 120.0
"""For a trim after faults have ceased, beside the time for the objects themselves."""

OBJECTS_PER_SECOND = 50.0
"""What a run does at the very least, on an idle machine."""

SECRET: Document = {"secret": {"type": "string"}}


@dataclass(slots=True)
class Toll:
    """
    What a soak has seen.
    """

    trims: int = 0
    restored: int = 0
    writes: int = 0
    tenures: int = 0
    findings: dict[str, list[str]] = field(default_factory=dict)

    def add(self, kind: str, found: Iterable[str]) -> None:
        """
        Note what should not have been.
        """
        self.findings.setdefault(kind, []).extend(found)


def main() -> int:
    """
    Run one soak, or print the table of all.

    Returns:
        0 if everything held.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.soak", description=__doc__)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000))
    parser.add_argument("--objects", type=int, default=OBJECTS)
    parser.add_argument("--faults", type=int, default=FAULTS)
    parser.add_argument("--table", action="store_true", help="print what all runs have shown")
    given = parser.parse_args()
    if given.table:
        say(records.table())
        return 0
    can_mount = enter_own_mounts(["-m", "tests.e2e.soak", *sys.argv[1:], f"--seed={given.seed}"])
    say(f"seed {given.seed}: make soak SEED={given.seed}")
    commit, date = records.commit(), time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    world = World(random.Random(given.seed), can_mount=can_mount)  # noqa: S311 - no secret
    begun = time.monotonic()
    soak, failure = _Soak(world, given), ""
    try:
        soak.run()
    except ChaosError as error:
        failure = str(error)
        say(failure)
    finally:
        world.stop()
    record = {"seed": given.seed, "commit": commit, "date": date, **soak.figures()}
    record |= {"seconds": round(time.monotonic() - begun), "failure": failure}
    records.append(record)
    say(json.dumps(record))
    return 1 if failure else 0


class _Saved(NamedTuple):
    """
    A copy of etcd's data, and what was expected of the objects then.
    """

    folder: Path
    expected: list[dict[str, int | None]]
    era: int
    revision: int


@contextmanager
def _holding(writers: Iterable[Writer | Keeper]) -> Iterator[None]:
    with ExitStack() as held:
        for writer in writers:
            held.enter_context(writer.turn)
        yield


class _Soak:
    def __init__(self, world: World, given: argparse.Namespace) -> None:
        self._world = world
        self._chance = random.Random(given.seed + 1)  # noqa: S311 - no secret
        self._wanted: int = given.faults
        self._crd, self._vaults = Crd(world.plane, "storms"), Crd(world.plane, "vaults")
        self._keeper = Keeper(self._crd, LEASE, self._tell)
        self._faults = Faults(world, self._chance, lambda: self._keeper.holder)
        self._names = [f"o{number:05}" for number in range(given.objects)]
        self._writers = [
            Writer(self._crd, self._names[number::WRITERS], seed=given.seed + number)
            for number in range(WRITERS)
        ]
        self._toll = Toll()
        self._begun = time.monotonic()
        self._looked_at_revision = 0
        self._uids: dict[str, str] = {}

    def run(self) -> None:
        """
        Break things until there were enough faults, and look at what came of it.

        Raises:
            ChaosError: Something that must hold does not.
        """
        self._world.start()
        self._fill()
        self._world.start_replicas()
        for writer in self._writers:
            writer.start()
        self._keeper.start()
        self._break_things()
        self._keeper.stop()
        late = self._wait_until_trimmed()
        for writer in self._writers:
            writer.stop()
        self._look()
        self._look_at_writes()
        self._look_at_contents()
        for kind, found in self._toll.findings.items():
            for line in found:
                say(f"{kind}: {line}")
        demand(not any(self._toll.findings.values()), "not everything held")
        demand(not late, late)
        demand(self._toll.trims, "no trim was found in etcd")

    def figures(self) -> dict[str, object]:
        """
        Return what is known of the run, as far as it got.
        """
        return {
            "objects": len(self._names),
            "faults": self._faults.total,
            "by_kind": dict(self._faults.counts.most_common()),
            "etcd_ended_by_full_disk": self._faults.ended_by_full_disk,
            "writes_of_others": sum(writer.writes for writer in self._writers),
            "writes_of_espalier": self._toll.writes,
            "tenures": self._toll.tenures,
            "eras": self._keeper.era,
            "trims": self._toll.trims,
            "restored": self._toll.restored,
            **{kind: len(found) for kind, found in self._toll.findings.items()},
        }

    def _break_things(self) -> None:
        saved = None
        while self._faults.total < self._wanted:
            self._storm()
            self._calm(self._chance.choice(CALMS_SECONDS))
            if self._wanted > 2:
                if self._faults.total >= self._wanted // 3 and saved is None:
                    self._repair()
                    saved = self._save()
                if self._faults.total >= self._wanted // 2 and not self._toll.restored:
                    assert saved is not None
                    self._repair()
                    self._restore(saved)
        self._repair()

    def _storm(self) -> None:
        """
        Let several faults come, and overlap.
        """
        left = min(self._chance.randint(*STORM), self._wanted - self._faults.total)
        while left:
            name = self._faults.strike()
            if name is not None:
                left -= 1
                self._tell(f"fault {self._faults.total}: {name}")
            self._go_on(self._chance.uniform(*BETWEEN_SECONDS))

    def _calm(self, seconds: float) -> None:
        """
        Begin no fault for a while, but no longer than until a run has ended.
        """
        era, until = self._keeper.era, time.monotonic() + seconds
        while self._keeper.era == era and time.monotonic() < until:
            self._go_on(TICK_SECONDS)

    def _repair(self) -> None:
        """
        Wait until nothing is broken any more.
        """
        while not self._faults.are_over:
            self._go_on(TICK_SECONDS)

    def _go_on(self, seconds: float) -> None:
        """
        Continue what is under way for a while.
        """
        until = time.monotonic() + seconds
        while True:
            self._faults.go_on()
            self._world.demand_alive()
            if time.monotonic() >= until:
                return
            time.sleep(TICK_SECONDS)

    def _fill(self) -> None:
        plane, crd, vaults, keeper = self._world.plane, self._crd, self._vaults, self._keeper
        for one in (crd, vaults):
            grant_objects(one)
        crd.create(keeper.versions(), storage=keeper.storage)
        objects = (
            crd.object(keeper.storage, name, spec={"value": 0, "note": name})
            for name in self._names
        )
        plane.api.create_many(crd.objects_path(keeper.storage), objects)
        self._uids = {name: obj["metadata"]["uid"] for name, obj in crd.stored().items()}
        both = [version("v1alpha1", schema(VALUE | SECRET)), version("v1", schema(VALUE))]
        vaults.create(both, storage="v1alpha1")
        vaults.add(
            "v1alpha1",
            *(
                vaults.object("v1alpha1", f"h{n:02}", spec={"value": n, "secret": f"h{n:02}"})
                for n in range(HIDDEN)
            ),
        )
        # What holds the field does not show it any more; no one consents to its loss.
        plain = [version(name, schema(VALUE)) for name in NAMES]
        vaults.set_versions(plain, storage="v1")
        vaults.label(mode="enforce")
        crd.label(mode="enforce")
        keeper.begin_era()
        self._tell(f"{len(self._names)} objects are made")

    def _save(self) -> _Saved:
        self._tell("etcd is copied")
        with _holding((*self._writers, self._keeper)):
            revision, _ = next(self._world.plane.etcd.history(self._crd.raw_key))
            folder = self._world.save_etcd()
            expected = [dict(one.expected) for one in self._writers]
            return _Saved(folder, expected, self._keeper.era, revision)

    def _restore(self, saved: _Saved) -> None:
        with _holding((*self._writers, self._keeper)):
            # What is restored over is looked at before.
            self._look()
            self._world.restore_etcd(saved.folder)
            for writer, expected in zip(self._writers, saved.expected, strict=True):
                writer.expected = dict(expected)
            self._keeper.era = saved.era
        self._looked_at_revision = saved.revision
        self._toll.restored += 1
        self._tell("etcd is restored from the copy")

    def _wait_until_trimmed(self) -> str:
        """
        Wait for the trim after the last fault; return a message if there is none in time.
        """
        deadline = Deadline(PROOF_SECONDS + 3 * len(self._names) / OBJECTS_PER_SECOND)
        while insist(self._crd.stored_versions) != [self._keeper.storage]:
            self._world.demand_alive()
            if deadline.has_passed():
                tails = "\n".join(one.child.tail(20) for one in self._world.replicas)
                say(tails)
                return (
                    f"not trimmed {deadline.waited_seconds:.0f} s after the last fault, on a"
                    f" machine {PACE.factor():.1f} times slower than an idle one"
                )
            time.sleep(0.5)
        self._tell("trimmed at the end")
        at = self._crd.stored_at()
        demand(set(at) == {self._keeper.storage}, f"stored at {at}")
        return ""

    def _look(self) -> None:
        """
        Look in etcd for what must hold at any time.
        """
        trims = trims_of(self._crd, after=self._looked_at_revision)
        self._toll.trims += len(trims)
        self._toll.add("false_trims", false_trims(self._crd, trims))
        self._toll.add("hidden_erased", erased_fields(self._vaults, HIDDEN))
        self._tell("looked at etcd")

    def _look_at_writes(self) -> None:
        credentials = {one.credential for one in self._world.replicas}
        requests = [
            one for one in self._world.plane.audit.requests() if one.credential in credentials
        ]
        tenures = tenures_of(requests, LEASE)
        writes = writes_of(requests, (self._crd, self._vaults), credentials)
        self._toll.writes, self._toll.tenures = len(writes), len(tenures)
        self._toll.add("fenced_writes", fenced_writes(writes, tenures))
        demand(tenures, "no tenure was found in the audit logs")
        demand(writes, "no write was found in the audit logs")

    def _look_at_contents(self) -> None:
        expected = {n: v for writer in self._writers for n, v in writer.expected.items()}
        self._toll.add("lost", lost_objects(self._crd.stored(), expected, self._uids))

    def _tell(self, text: str) -> None:
        say(f"{time.monotonic() - self._begun:4.0f} s  {text}")


if __name__ == "__main__":
    sys.exit(main())
