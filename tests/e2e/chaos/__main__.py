"""
Chaos on the real control plane: ``make e2e-chaos``, bounded to twelve minutes.

Writers change thousands of objects while the operator's replicas are killed again and again, the
API server and etcd are restarted, and requests get denials and 429s. At the end, every object must
have the value of its last write and be stored at the storage version, and storedVersions must have
been trimmed exactly once, after the last old value was gone. A slow machine gets more time, and a
run without enough time reports what is missing.
"""

import argparse
import http
import json
import random
import secrets
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.e2e.chaos.demanding import ChaosError, demand, insist, say
from tests.e2e.chaos.denying import SUFFIX, Denial
from tests.e2e.chaos.killing import Victim
from tests.e2e.chaos.writing import Writer
from tests.e2e.controlplane.assets import find_assets
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import CURRENT, Crd, schema, version
from tests.e2e.installing import grant_objects
from tests.e2e.operating import is_ours
from tests.patience import PACE, Deadline

ROOT = Path(__file__).parent.parent.parent.parent
OBJECTS, WRITERS, REPLICAS = 3000, 3, 2
KILLS_WHILE_WRITING, API_RESTARTS, ETCD_RESTARTS = 30, 5, 1
SECONDS = 600.0
"""For what is broken; what must follow has its own time."""

PROOF_SECONDS = 60.0
LIFE_SECONDS = 60.0
"""Whatever has not written by then is killed all the same, and does not count."""

IDLE_KILLS = 3
"""Before the lease of the life before has run out."""

IDLE_SHARE, LONG_SHARE, RESTART_SHARE = 0.1, 0.15, 0.3

# The schemas are equal, so that a write through either version is in normal form at once.
VALUE = {"value": {"type": "integer"}, "color": {"type": "string", "default": "red"}}
VERSIONS = [version(name, schema(VALUE)) for name in ("v1alpha1", "v1")]
# Few requests at a time, and no queue: only the operator sends more.
IN_FLIGHT = 6
FLAGS = (
    "--enable-priority-and-fairness=false",
    f"--max-mutating-requests-inflight={IN_FLIGHT}",
    "--etcd-compaction-interval=0",
)
# A short lease, since each process first waits for the lease of the one before.
SETTINGS = {"settle_seconds": 2, "page_size": 250, "resync_seconds": 5, "lease_seconds": 5}


@dataclass(slots=True)
class Toll:
    """
    The number of restarts of the servers.
    """

    api_server_restarts: int = 0
    etcd_restarts: int = 0


def main() -> int:
    """
    Run the chaos test once.

    Returns:
        0 if all conditions hold.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000))
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--objects", type=int, default=OBJECTS)
    parser.add_argument("--kills", type=int, default=KILLS_WHILE_WRITING)
    parser.add_argument("--replicas", type=int, default=REPLICAS)
    given = parser.parse_args()
    say(f"seed {given.seed}: make e2e-chaos SEED={given.seed}")
    try:
        with _control_plane() as plane:
            figures = _Chaos(plane, given).run()
    except ChaosError as error:
        say(f"seed {given.seed}: {error}")
        return 1
    say(json.dumps({"seed": given.seed, **figures}))
    return 0


class _Chaos:
    def __init__(self, plane: ControlPlane, given: argparse.Namespace) -> None:
        self._plane = plane
        self._chance = random.Random(given.seed)  # noqa: S311 - no secret
        self._begun = time.monotonic()
        self._deadline = Deadline(given.seconds)
        self._kills: int = given.kills
        self._replicas: int = given.replicas
        self._crd = Crd(plane, "storms")
        self._names = [f"o{number:05}" for number in range(given.objects)]
        self._writers = [
            Writer(self._crd, self._names[number::WRITERS], seed=given.seed + number)
            for number in range(WRITERS)
        ]
        self._denial = Denial(self._crd)
        self._toll = Toll()

    def run(self) -> dict[str, object]:
        self._prepare()
        # An administrator is never refused, even if the server is busy.
        kubeconfig = self._plane.service_account_kubeconfig("espalier-system", "espalier")
        victim = Victim(self._crd, kubeconfig, replicas=self._replicas, **SETTINGS)
        for writer in self._writers:
            writer.start()
        self._break_things(victim)
        self._wait_until_trimmed(victim)
        for writer in self._writers:
            writer.stop()
        # The operator may not know of the trim yet: it must not be repeated or undone.
        victim.kill()
        self._tell("killed after the trim")
        victim.revive()
        change = {"spec": {"names": {"shortNames": ["st"]}}}
        insist(lambda: self._plane.api.merge(self._crd.path, change))
        self._wait_until_proved(victim)
        self._tell("proved anew")
        victim.stop()
        return self._check(victim)

    def _prepare(self) -> None:
        crd, plane = self._crd, self._plane
        plane.kubectl("apply", "-k", str(ROOT / "manifests"))
        grant_objects(crd)
        crd.create(VERSIONS, storage="v1alpha1")
        objects = (crd.object("v1alpha1", n, spec={"value": 0}) for n in self._names)
        plane.api.create_many(crd.objects_path("v1alpha1"), objects, in_flight=IN_FLIGHT - 1)
        self._denial.impose(next(name for name in self._names if name.endswith(SUFFIX)))
        crd.set_versions(VERSIONS, storage="v1")
        crd.label(mode="enforce")
        self._tell(f"{len(self._names)} objects are made")

    def _break_things(self, victim: Victim) -> None:
        """
        Kill the operator while it writes, and restart the servers, at random.
        """
        others: list[Callable[[], None]] = [self._restart_api_server] * API_RESTARTS
        others += [self._restart_etcd] * ETCD_RESTARTS
        self._chance.shuffle(others)
        while victim.kills_while_writing < self._kills or others:
            self._live(victim, others)
            if self._denial.is_in_force and victim.kills_while_writing >= self._kills // 2:
                self._denial.lift()
                self._tell("the policy is taken away")
            self._look(victim, self._deadline, "not enough was broken", is_alive=False)
            victim.revive()

    def _live(self, victim: Victim, others: list[Callable[[], None]]) -> None:
        """
        Let the operator run until it has written several objects, or for a moment; then kill it.
        """
        chance = self._chance
        idle = victim.kills - victim.kills_while_writing
        if idle < IDLE_KILLS and chance.random() < IDLE_SHARE:
            time.sleep(chance.uniform(0.3, 4))
        else:
            is_long = chance.random() < LONG_SHARE
            wanted = chance.randint(200, 600) if is_long else chance.randint(1, 150)
            victim.wait_for_writes(wanted, within_seconds=LIFE_SECONDS)
            if others and chance.random() < RESTART_SHARE:
                victim.demand_alive()
                others.pop()()
                if chance.random() < 0.5:
                    # The operator must recover by itself, and not only be replaced.
                    more = victim.writes() + chance.randint(1, 50)
                    victim.wait_for_writes(more, within_seconds=LIFE_SECONDS)
        writes = victim.kill()
        self._tell(f"kill {victim.kills} ({victim.kills_while_writing}), after {writes} writes")

    def _restart_api_server(self) -> None:
        self._plane.restart_api_server()
        self._toll.api_server_restarts += 1
        self._tell(f"API server restarted ({self._toll.api_server_restarts})")

    def _restart_etcd(self) -> None:
        self._plane.restart_etcd()
        self._toll.etcd_restarts += 1
        self._tell("etcd restarted")

    def _wait_until_trimmed(self, victim: Victim) -> None:
        deadline = Deadline(PROOF_SECONDS)
        while insist(self._crd.stored_versions) != ["v1"]:
            self._look(victim, deadline, "not trimmed")
            time.sleep(0.05)
        self._tell("trimmed")

    def _wait_until_proved(self, victim: Victim) -> None:
        deadline = Deadline(PROOF_SECONDS)
        while True:
            body = insist(self._crd.read)
            generation = f"generation {body['metadata']['generation']};"
            stored = body["status"]["storedVersions"]
            found = [c for c in body["status"]["conditions"] if c["type"] == CURRENT]
            if stored == ["v1"] and any(
                c["status"] == "True" and generation in c["message"] for c in found
            ):
                return
            self._look(victim, deadline, f"not proved for {generation.rstrip(';')}")
            time.sleep(1)

    def _look(
        self, victim: Victim, deadline: Deadline, otherwise: str, *, is_alive: bool = True
    ) -> None:
        """
        Demand that there is time left, and that the operator runs.
        """
        if is_alive:
            victim.demand_alive()
        if deadline.has_passed():
            waited, missing = deadline.waited_seconds, self._missing(victim)
            raise ChaosError(f"{otherwise} after {waited:.0f} s: {missing}\n{victim.last_words()}")

    def _missing(self, victim: Victim) -> str:
        """
        List how far everything is that must have come about in the end.
        """
        condition = insist(lambda: self._crd.condition(CURRENT)) or {}
        return ", ".join(
            (
                f"{victim.kills_while_writing} of {self._kills} kills while writing",
                f"{self._toll.api_server_restarts} of {API_RESTARTS} restarts of the API server",
                f"{self._toll.etcd_restarts} of {ETCD_RESTARTS} restarts of etcd",
                f"policy {'in force' if self._denial.is_in_force else 'lifted'}",
                f"objects stored at {insist(self._crd.stored_at)}",
                f"storedVersions {insist(self._crd.stored_versions)}",
                f"{CURRENT} {condition.get('status')}: {condition.get('message')}",
                f"machine {PACE.factor():.1f} times slower than an idle one",
            )
        )

    def _check(self, victim: Victim) -> dict[str, object]:
        seconds = round(time.monotonic() - self._begun)
        stored = self._crd.stored()
        self._check_contents(stored)
        versions = self._crd.stored_at()
        demand(set(versions) == {"v1"}, f"stored at {versions}")
        revision = self._revision_of_the_only_trim()
        old = [
            key
            for key, value in self._plane.etcd.values(self._crd.raw_prefix, revision=revision)
            if not json.loads(value)["apiVersion"].endswith("/v1")
        ]
        demand(not old, f"trimmed while {len(old)} objects were stored at the old version")
        too_many = self._too_many()
        demand(too_many, "the operator was never turned away by a 429")
        return {
            "objects": len(stored),
            "writes": sum(writer.writes for writer in self._writers),
            "writers_denied": sum(writer.refused for writer in self._writers),
            "operator_denied": self._denial.check(set(stored)),
            "kills": victim.kills,
            "kills_while_writing": victim.kills_while_writing,
            **asdict(self._toll),
            "too_many_requests": too_many,
            "trim_revision": revision,
            "seconds": seconds,
        }

    def _check_contents(self, stored: dict[str, dict[str, Any]]) -> None:
        expected = {n: v for writer in self._writers for n, v in writer.expected.items()}
        wrong = [
            name
            for name, value in expected.items()
            if value != (stored[name]["spec"]["value"] if name in stored else None)
        ]
        demand(not wrong, f"{len(wrong)} objects are not as they were left, such as {wrong[:5]}")
        strange = stored.keys() - expected.keys()
        demand(not strange, f"{len(strange)} objects came from nowhere: {sorted(strange)[:5]}")

    def _too_many(self) -> int:
        busy = http.HTTPStatus.TOO_MANY_REQUESTS
        return sum(r.code == busy and is_ours(r) for r in self._plane.audit.requests())

    def _revision_of_the_only_trim(self) -> int:
        """
        Return the only revision of the definition at which storedVersions became one version.
        """
        trims = []
        later: tuple[int, list[str]] | None = None
        for revision, value in self._plane.etcd.history(self._crd.raw_key):
            stored = json.loads(value).get("status", {}).get("storedVersions") or []
            if later is not None and later[1] == ["v1"] and stored != ["v1"]:
                trims.append(later[0])
            later = revision, stored
        demand(len(trims) == 1, f"storedVersions was trimmed {len(trims)} times: {trims}")
        return trims[0]

    def _tell(self, text: str) -> None:
        say(f"{time.monotonic() - self._begun:4.0f} s  {text}")


@contextmanager
def _control_plane() -> Iterator[ControlPlane]:
    plane = ControlPlane(find_assets(), is_durable=True, api_server_flags=FLAGS)
    plane.start()
    try:
        yield plane
    finally:
        plane.stop()


if __name__ == "__main__":
    sys.exit(main())
