"""
Chaos with a definition in parts, without an operator.
"""

import time
from collections.abc import Callable

from tests.e2e.chaos.demanding import ChaosError, demand, insist
from tests.e2e.chaos.division import RETRIED, TAIL_LINES, Division, Rates, Running
from tests.e2e.chaos.storm import Storm
from tests.patience import PACE, Deadline

KILLS_PER_API_RESTART, ETCD_RESTARTS = 3, 1
FINISH_KILLS = 1
RESTART_SHARE, SUSPEND_SHARE, IDLE_SHARE = 0.6, 0.1, 0.1
LIFE_SECONDS = 60.0
"""Of a part that is to be killed; whatever has not written by then is killed all the same."""

PROOF_SECONDS = 120.0
POLL_SECONDS = 0.25


class ChaosInParts:
    """
    Parts, and the last step, are killed, suspended and started again, as by an Indexed Job.
    """

    def __init__(self, storm: Storm, *, seconds: float, kills: int, parts: int) -> None:
        self._storm = storm
        self._deadline = Deadline(seconds)
        self._wanted = kills
        self._count = parts
        self._kills = 0
        self._kills_while_writing = 0
        self._suspensions = 0
        self._rounds = 1

    def run(self) -> dict[str, object]:
        """
        Let it happen, and return the figures.

        Raises:
            ChaosError: Something does not hold.
        """
        storm = self._storm
        storm.prepare()
        division = Division(storm.crd, count=self._count)
        rates = Rates(storm.chance)
        storm.start_writers()
        self._break_things(division, rates)
        self._complete(division, rates)
        storm.tell("all parts are done")
        self._finish_with_kills(division)
        storm.tell("trimmed")
        storm.stop_writers()
        # What was done is not done again, and what has changed is not proved.
        self._finish(division)
        storm.change_generation()
        refused = self._run(division.start_finish())
        demand(refused == 4, f"the last step accepted parts of another generation: {refused}")
        division.begin_again()
        self._complete(division, rates)
        self._finish(division)
        storm.tell("proved anew")
        return storm.look_at_the_end() | {
            "parts": self._count,
            "starts": division.starts,
            "kills": self._kills,
            "kills_while_writing": self._kills_while_writing,
            "suspensions": self._suspensions,
            "rounds": self._rounds,
        }

    def _break_things(self, division: Division, rates: Rates) -> None:
        """
        Kill parts while they write, and restart the servers, at random.
        """
        storm = self._storm
        restarts = max(1, self._wanted // KILLS_PER_API_RESTART)
        others: list[Callable[[], None]] = [storm.restart_api_server] * restarts
        others += [storm.restart_etcd] * ETCD_RESTARTS
        storm.chance.shuffle(others)
        while self._kills_while_writing < self._wanted or others:
            self._demand_time(self._deadline, division, "not enough was broken")
            division.step(rates)
            if division.is_done:
                # There is nothing to kill any more, unless no part counts any more.
                self._rounds += 1
                storm.change_generation()
                division.begin_again()
                storm.tell("all parts were done, and begin again for another generation")
                continue
            self._live(division, rates, others)
            if storm.denial.is_in_force and self._kills_while_writing > self._wanted // 2:
                storm.lift_denial()

    def _live(self, division: Division, rates: Rates, others: list[Callable[[], None]]) -> None:
        """
        Let a part write for a while, with or without a restart of a server, and kill it.
        """
        chance = self._storm.chance
        if chance.random() < SUSPEND_SHARE:
            division.suspend()
            self._suspensions += 1
            self._storm.tell("suspended")
            return
        number = chance.choice([*division.running])
        victim = division.running[number]
        wanted = 0 if chance.random() < IDLE_SHARE else chance.randint(1, 60)
        if wanted and not self._wait_for_writes(division, rates, number, wanted):
            return
        if others and chance.random() < RESTART_SHARE:
            others.pop()()
            more = division.writes_of(victim) + chance.randint(1, 20)
            # The part must recover by itself, or end as a Job can try again.
            if chance.random() < 0.5 and not self._wait_for_writes(division, rates, number, more):
                return
        if division.running.get(number) is not victim or victim.child.exit_code is not None:
            return
        division.kill(number)
        writes = division.writes_of(victim)
        self._kills += 1
        self._kills_while_writing += writes > 0
        done = self._kills_while_writing
        self._storm.tell(f"kill {self._kills} ({done}) of part {number}, after {writes} writes")

    def _wait_for_writes(self, division: Division, rates: Rates, number: int, count: int) -> bool:
        """
        Wait until a part has written so many objects, and return whether it still runs.
        """
        victim = division.running[number]
        deadline = Deadline(LIFE_SECONDS)
        while division.writes_of(victim) < count and not deadline.has_passed():
            division.step(rates)
            if division.running.get(number) is not victim:
                return False
            time.sleep(POLL_SECONDS)
        return True

    def _complete(self, division: Division, rates: Rates) -> None:
        deadline = Deadline(PROOF_SECONDS)
        while not division.is_done:
            self._demand_time(deadline, division, "the parts are not done")
            division.step(rates)
            time.sleep(POLL_SECONDS)

    def _finish_with_kills(self, division: Division) -> None:
        """
        Kill the last step while it proves, and start it again until it has trimmed.
        """
        for _ in range(FINISH_KILLS):
            running = division.start_finish()
            wanted = self._storm.chance.randint(1, 100)
            deadline = Deadline(LIFE_SECONDS)
            while division.writes_of(running) < wanted and not deadline.has_passed():
                if running.child.exit_code is not None:
                    break
                time.sleep(POLL_SECONDS)
            if running.child.exit_code is not None:
                break
            running.child.kill()
            self._kills += 1
            writes = division.writes_of(running)
            self._kills_while_writing += writes > 0
            self._storm.tell(f"kill {self._kills} of the last step, after {writes} writes")
        self._finish(division)

    def _finish(self, division: Division) -> None:
        deadline = Deadline(PROOF_SECONDS)
        while (code := self._run(division.start_finish())) != 0:
            demand(code in RETRIED, f"the last step ended with {code}")
            self._demand_time(deadline, division, "not finished")
        found = insist(self._storm.crd.stored_versions)
        demand(found == ["v1"], f"the last step ended with 0, and storedVersions is {found}")

    def _run(self, one: Running) -> int:
        deadline = Deadline(PROOF_SECONDS)
        while (code := one.child.exit_code) is None:
            demand(not deadline.has_passed(), f"it hangs:\n{one.child.tail(TAIL_LINES)}")
            time.sleep(POLL_SECONDS)
        return code

    def _demand_time(self, deadline: Deadline, division: Division, otherwise: str) -> None:
        if deadline.has_passed():
            stored, slow = insist(self._storm.crd.stored_at), PACE.factor()
            raise ChaosError(
                f"{otherwise} after {deadline.waited_seconds:.0f} s:"
                f" {self._kills_while_writing} of {self._wanted} kills, stored at {stored},"
                f" machine {slow:.1f} times slower than an idle one\n{division.last_words()}"
            )
