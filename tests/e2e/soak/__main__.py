"""
``make soak``: hundreds of faults while definitions are migrated again and again.

Writers change, create and delete objects, the storage version goes back and forth with another
schema each time, two replicas of the operator work behind a relay, and everything is killed, cut or
held up by chance; once, etcd is restored from a copy. All that is asserted comes from etcd and the
audit logs. A run is told apart by its seed; its figures are one line of JSON.
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
from tests.e2e.soak.evidence import (
    Tenure,
    check_fenced,
    check_hidden,
    check_objects,
    check_trims,
    tenures_of,
    trims_of,
)
from tests.e2e.soak.faults import Faults
from tests.e2e.soak.world import World
from tests.patience import PACE, Deadline

OBJECTS, HIDDEN, WRITERS, FAULTS = 10_000, 20, 3, 100
NAMES = ("v1alpha1", "v1")
LEASE = Bucket(0, 1).name
BETWEEN_SECONDS = (0.0, 3.0)
PROOF_SECONDS = 120.0
"""For a trim after faults have ceased, beside the time for the objects themselves."""

OBJECTS_PER_SECOND = 50.0
"""What a run does at the very least, on an idle machine."""

VALUE: Document = {
    "value": {"type": "integer"},
    "note": {"type": "string"},
    "color": {"type": "string", "default": "red"},
}
SECRET: Document = {"secret": {"type": "string"}}


@dataclass(slots=True)
class Toll:
    """
    What a soak has seen.
    """

    trims: int = 0
    restored: int = 0
    writes_looked_at: int = 0
    tenures: list[Tenure] = field(default_factory=list)


def main() -> int:
    """
    Run one soak.

    Returns:
        0 if everything held.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.soak", description=__doc__)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000))
    parser.add_argument("--objects", type=int, default=OBJECTS)
    parser.add_argument("--faults", type=int, default=FAULTS)
    given = parser.parse_args()
    say(f"seed {given.seed}: make soak SEED={given.seed}")
    world = World(random.Random(given.seed))  # noqa: S311 - no secret
    begun = time.monotonic()
    try:
        figures = _Soak(world, given).run()
    except ChaosError as error:
        say(f"seed {given.seed}: {error}")
        return 1
    finally:
        world.stop()
    seconds = round(time.monotonic() - begun)
    say(json.dumps({"seed": given.seed, **figures, "seconds": seconds}))
    return 0


class _Saved(NamedTuple):
    """
    A copy of etcd's data, and what was expected of the objects then.
    """

    folder: Path
    expected: list[dict[str, int | None]]
    era: int


@contextmanager
def _holding(writers: Iterable[Writer]) -> Iterator[None]:
    with ExitStack() as held:
        for writer in writers:
            held.enter_context(writer.turn)
        yield


class _Soak:
    def __init__(self, world: World, given: argparse.Namespace) -> None:
        self._world = world
        self._chance = random.Random(given.seed + 1)  # noqa: S311 - no secret
        self._faults = Faults(world, self._chance, LEASE)
        self._wanted: int = given.faults
        self._crd, self._vaults = Crd(world.plane, "storms"), Crd(world.plane, "vaults")
        self._names = [f"o{number:05}" for number in range(given.objects)]
        self._writers = [
            Writer(self._crd, self._names[number::WRITERS], seed=given.seed + number)
            for number in range(WRITERS)
        ]
        self._era = 0
        self._toll = Toll()
        self._begun = time.monotonic()
        self._uids: dict[str, str] = {}

    def run(self) -> dict[str, object]:
        self._world.start()
        self._fill()
        self._world.start_replicas()
        for writer in self._writers:
            writer.start()
        backup_at = self._wanted // 3
        restore_at = self._wanted // 2
        saved = None
        while sum(self._faults.counts.values()) < self._wanted:
            time.sleep(self._chance.uniform(*BETWEEN_SECONDS))
            name = self._faults.strike()
            count = sum(self._faults.counts.values())
            self._tell(f"fault {count}: {name}")
            self._world.demand_alive()
            if insist(self._crd.stored_versions) == [self._storage]:
                self._begin_era()
            if count >= backup_at and saved is None and self._wanted > 2:
                saved = self._save()
            if count >= restore_at and saved is not None and not self._toll.restored:
                self._restore(saved)
        self._wait_until_trimmed()
        for writer in self._writers:
            writer.stop()
        self._look()
        demand(trims_of(self._crd), "no trim was found in etcd")
        demand(self._toll.tenures, "no tenure was found in etcd")
        demand(self._toll.writes_looked_at, "no write was found in the audit logs")
        self._check_contents()
        return {
            "objects": len(self._names),
            "faults": sum(self._faults.counts.values()),
            "by_kind": dict(self._faults.counts.most_common()),
            "writes_of_others": sum(writer.writes for writer in self._writers),
            "writes_of_espalier": self._toll.writes_looked_at,
            "eras": self._era,
            "trims": self._toll.trims,
            "restored": self._toll.restored,
        }

    @property
    def _storage(self) -> str:
        return NAMES[self._era % 2]

    def _versions(self) -> list[Document]:
        # Each era adds a field that is filled in, so that all objects change.
        more = {f"f{n}": {"type": "integer", "default": n} for n in range(self._era)}
        return [version(name, schema(VALUE | more)) for name in NAMES]

    def _fill(self) -> None:
        plane, crd, vaults = self._world.plane, self._crd, self._vaults
        for one in (crd, vaults):
            grant_objects(one)
        crd.create(self._versions(), storage=self._storage)
        objects = (
            crd.object(self._storage, name, spec={"value": 0, "note": name}) for name in self._names
        )
        plane.api.create_many(crd.objects_path(self._storage), objects)
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
        # What holds the field does not show it any more; nobody consents to its loss.
        plain = [version(name, schema(VALUE)) for name in NAMES]
        vaults.set_versions(plain, storage="v1")
        vaults.label(mode="enforce")
        crd.label(mode="enforce")
        self._begin_era()
        self._tell(f"{len(self._names)} objects are made")

    def _begin_era(self) -> None:
        self._toll.trims += self._era > 0
        self._era += 1
        versions, storage = self._versions(), self._storage
        insist(lambda: self._crd.set_versions(versions, storage=storage))
        self._tell(f"era {self._era}: {storage} is the storage version")

    def _save(self) -> _Saved:
        self._tell("etcd is copied")
        with _holding(self._writers):
            folder = self._world.save_etcd()
            return _Saved(folder, [dict(w.expected) for w in self._writers], self._era)

    def _restore(self, saved: _Saved) -> None:
        with _holding(self._writers):
            # What is restored over is looked at before.
            self._look()
            self._world.restore_etcd(saved.folder)
            for writer, expected in zip(self._writers, saved.expected, strict=True):
                writer.expected = dict(expected)
            self._era = saved.era
        self._toll.restored += 1
        self._tell("etcd is restored from the copy")

    def _wait_until_trimmed(self) -> None:
        patience = PROOF_SECONDS + 3 * len(self._names) / OBJECTS_PER_SECOND
        deadline = Deadline(patience)
        while insist(self._crd.stored_versions) != [self._storage]:
            self._world.demand_alive()
            if deadline.has_passed():
                tails = "\n".join(one.child.tail(20) for one in self._world.replicas)
                raise ChaosError(
                    f"not trimmed {deadline.waited_seconds:.0f} s after the last fault, on a"
                    f" machine {PACE.factor():.1f} times slower than an idle one:\n{tails}"
                )
            time.sleep(0.5)
        self._toll.trims += 1
        self._tell("trimmed at the end")

    def _look(self) -> None:
        """
        Demand from etcd and the audit logs what must hold at any time.
        """
        plane = self._world.plane
        check_trims(self._crd, trims_of(self._crd))
        check_hidden(self._vaults, HIDDEN)
        self._toll.tenures += tenures_of(plane, LEASE)
        self._toll.writes_looked_at = check_fenced(
            plane, (self._crd, self._vaults), self._toll.tenures, self._world.pids
        )
        self._tell("looked at etcd and the audit logs")

    def _check_contents(self) -> None:
        stored = self._crd.stored()
        expected = {n: v for writer in self._writers for n, v in writer.expected.items()}
        check_objects(stored, expected, self._uids)
        at = self._crd.stored_at()
        demand(set(at) == {self._storage}, f"stored at {at}")

    def _tell(self, text: str) -> None:
        say(f"{time.monotonic() - self._begun:4.0f} s  {text}")


if __name__ == "__main__":
    sys.exit(main())
