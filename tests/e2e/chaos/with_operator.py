"""
Chaos with replicas of the operator.
"""

import time
from collections.abc import Callable

from tests.e2e.chaos.demanding import ChaosError, insist
from tests.e2e.chaos.killing import Victim
from tests.e2e.chaos.storm import Storm
from tests.e2e.crds import CURRENT, conditions_of
from tests.patience import PACE, Deadline

API_RESTARTS, ETCD_RESTARTS = 5, 1
PROOF_SECONDS = 60.0
LIFE_SECONDS = 60.0
"""Whatever has not written by then is killed all the same, and does not count."""

IDLE_KILLS = 3
"""Before the lease of the life before has run out."""

IDLE_SHARE, LONG_SHARE, RESTART_SHARE = 0.1, 0.15, 0.3
# A short lease, since each process first waits for the lease of the one before.
SETTINGS = {"settle_seconds": 2, "page_size": 250, "resync_seconds": 5, "lease_seconds": 5}


class ChaosWithOperator:
    """
    The replica that works is killed again and again.
    """

    def __init__(self, storm: Storm, *, seconds: float, kills: int, replicas: int) -> None:
        self._storm = storm
        self._crd = storm.crd
        self._deadline = Deadline(seconds)
        self._kills = kills
        self._replicas = replicas

    def run(self) -> dict[str, object]:
        """
        Let it happen, and return the figures.

        Raises:
            ChaosError: Something does not hold.
        """
        storm = self._storm
        storm.prepare()
        self._crd.label(mode="enforce")
        # An administrator is never refused, even if the server is busy.
        kubeconfig = storm.plane.service_account_kubeconfig("espalier-system", "espalier")
        victim = Victim(self._crd, kubeconfig, replicas=self._replicas, **SETTINGS)
        storm.start_writers()
        self._break_things(victim)
        self._wait_until_trimmed(victim)
        storm.stop_writers()
        # The operator may not know of the trim yet: it must not be repeated or undone.
        victim.kill()
        storm.tell("killed after the trim")
        victim.revive()
        storm.change_generation()
        self._wait_until_proved(victim)
        storm.tell("proved anew")
        victim.stop()
        kills = {"kills": victim.kills, "kills_while_writing": victim.kills_while_writing}
        return storm.look_at_the_end() | kills

    def _break_things(self, victim: Victim) -> None:
        """
        Kill the operator while it writes, and restart the servers, at random.
        """
        others: list[Callable[[], None]] = [self._storm.restart_api_server] * API_RESTARTS
        others += [self._storm.restart_etcd] * ETCD_RESTARTS
        self._storm.chance.shuffle(others)
        while victim.kills_while_writing < self._kills or others:
            self._live(victim, others)
            is_half_done = victim.kills_while_writing >= self._kills // 2
            if self._storm.denial.is_in_force and is_half_done:
                self._storm.lift_denial()
            self._look(victim, self._deadline, "not enough was broken", is_alive=False)
            victim.revive()

    def _live(self, victim: Victim, others: list[Callable[[], None]]) -> None:
        """
        Let the operator run until it has written several objects, or for a moment; then kill it.
        """
        chance = self._storm.chance
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
        done = victim.kills_while_writing
        self._storm.tell(f"kill {victim.kills} ({done}), after {writes} writes")

    def _wait_until_trimmed(self, victim: Victim) -> None:
        deadline = Deadline(PROOF_SECONDS)
        while insist(self._crd.stored_versions) != ["v1"]:
            self._look(victim, deadline, "not trimmed")
            time.sleep(0.05)
        self._storm.tell("trimmed")

    def _wait_until_proved(self, victim: Victim) -> None:
        deadline = Deadline(PROOF_SECONDS)
        while True:
            body = insist(self._crd.read)
            generation = f"generation {body['metadata']['generation']};"
            stored = body["status"]["storedVersions"]
            found = [c for c in conditions_of(body) if c["type"] == CURRENT]
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
        toll = self._storm.toll
        return ", ".join(
            (
                f"{victim.kills_while_writing} of {self._kills} kills while writing",
                f"{toll.api_server_restarts} of {API_RESTARTS} restarts of the API server",
                f"{toll.etcd_restarts} of {ETCD_RESTARTS} restarts of etcd",
                f"policy {'in force' if self._storm.denial.is_in_force else 'lifted'}",
                f"objects stored at {insist(self._crd.stored_at)}",
                f"storedVersions {insist(self._crd.stored_versions)}",
                f"{CURRENT} {condition.get('status')}: {condition.get('message')}",
                f"machine {PACE.factor():.1f} times slower than an idle one",
            )
        )
