"""
The faults of a soak, each with its own repair; several are under way at the same time.

A fault is a generator that yields how many seconds it waits. All of them run in one thread, since
the kernel ends a child process together with the thread that started it.
"""

import http.client
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeAlias

from tests.e2e.chaos.demanding import demand, say
from tests.e2e.controlplane.running import Beginning
from tests.e2e.soak.clocks import MOST_SECONDS
from tests.e2e.soak.world import REPLICAS, Replica, World
from tests.patience import Deadline

FROZEN_SECONDS = (0.5, 8.0)
HELD_SECONDS = (0.3, 4.0)
REFUSED_SECONDS = (0.5, 4.0)
FULL_SECONDS = (1.0, 6.0)
DOWN_SECONDS = (0.0, 1.0)
STEP_SECONDS = (1.0, 600.0, MOST_SECONDS)
POLL_SECONDS = 0.2
STOP_SECONDS = 30.0
READY_SECONDS = 120.0
MISFIRES = 20

Fault: TypeAlias = Generator[float, None, None]
Begin: TypeAlias = Callable[[], Beginning]


class Kind(NamedTuple):
    """
    How often a fault comes, of all faults, and what it breaks: nothing breaks twice at a time.
    """

    weight: int
    part: str


KINDS: Mapping[str, Kind] = {
    "operator killed": Kind(36, "replica"),
    "operator ended": Kind(8, "replica"),
    "operator stopped and continued": Kind(8, "replica"),
    "clock stepped": Kind(10, "clock"),
    "connections cut": Kind(22, "relay"),
    "connections held up": Kind(8, "relay"),
    "API server killed": Kind(5, "first API server"),
    "second API server killed": Kind(5, "second API server"),
    "etcd killed": Kind(3, "etcd"),
    "etcd without space": Kind(3, "etcd"),
    "disk of etcd full": Kind(4, "etcd"),
}


class _Underway(NamedTuple):
    due: float
    part: str
    fault: Fault


class Faults:
    """
    Breaks things by chance.

    Args:
        holder: Returns the identity of the replica that works, which is hit more often.

    Attributes:
        counts: How often each fault has come.
        ended_by_full_disk: How often etcd ended because its disk was full.
    """

    def __init__(self, world: World, chance: random.Random, holder: Callable[[], str]) -> None:
        self._world = world
        self._chance = chance
        self._holder = holder
        self._underway: list[_Underway] = []
        self._questions = ThreadPoolExecutor(max_workers=len(KINDS))
        self.counts: Counter[str] = Counter()
        self.ended_by_full_disk = 0
        missing = set()
        if world.library is None:
            missing.add("clock stepped")
        if world.disk is None:
            missing.add("disk of etcd full")
        self._kinds = {name: kind for name, kind in KINDS.items() if name not in missing}
        self._ways: Mapping[str, Callable[[Replica], Fault]] = {
            "operator killed": self._kill,
            "operator ended": self._end,
            "operator stopped and continued": self._freeze,
            "clock stepped": self._step,
            "connections cut": lambda _: self._cut(),
            "connections held up": lambda _: self._hold(),
            "API server killed": lambda _: self._kill_first(),
            "second API server killed": lambda _: self._kill_second(),
            "etcd killed": lambda _: self._kill_etcd(),
            "etcd without space": lambda _: self._refuse(),
            "disk of etcd full": lambda _: self._fill(),
        }

    @property
    def total(self) -> int:
        """
        How many faults have come.
        """
        return sum(self.counts.values())

    @property
    def are_over(self) -> bool:
        """
        Whether nothing is broken.
        """
        return not self._underway

    def strike(self) -> str | None:
        """
        Begin a fault on something that is whole.

        Returns:
            Its name; None if chance named only what is broken already.
        """
        names = list(self._kinds)
        weights = [kind.weight for kind in self._kinds.values()]
        broken = {one.part for one in self._underway}
        for _ in range(MISFIRES):
            (name,) = self._chance.choices(names, weights)
            number = self._victim()
            part = self._kinds[name].part
            if part in ("replica", "clock"):
                part = f"{part} {number}"
            if part not in broken:
                fault = self._ways[name](self._world.replicas[number])
                self._underway.append(_Underway(time.monotonic(), part, fault))
                self.counts[name] += 1
                self.go_on()
                return name
        return None

    def go_on(self) -> None:
        """
        Continue the faults whose wait is over.
        """
        now = time.monotonic()
        due, self._underway = (
            [one for one in self._underway if one.due <= now],
            [one for one in self._underway if one.due > now],
        )
        for one in due:
            seconds = next(one.fault, None)
            if seconds is not None:
                again = _Underway(time.monotonic() + seconds, one.part, one.fault)
                self._underway.append(again)

    def _victim(self) -> int:
        if self._chance.random() < 0.2:
            return self._chance.randrange(REPLICAS)
        holder = self._holder()
        for number, one in enumerate(self._world.replicas):
            if f"_{one.child.pid}_" in holder:
                return number
        return self._chance.randrange(REPLICAS)

    def _between(self, seconds: tuple[float, float]) -> float:
        return self._chance.uniform(*seconds)

    def _kill(self, victim: Replica) -> Fault:
        victim.is_down = True
        victim.operator.kill()
        yield self._between(DOWN_SECONDS)
        victim.start_again()

    def _end(self, victim: Replica) -> Fault:
        victim.is_down = True
        victim.child.terminate()
        deadline = Deadline(STOP_SECONDS)
        while victim.child.exit_code is None:
            demand(not deadline.has_passed(), f"no end at SIGTERM:\n{victim.child.tail(40)}")
            yield POLL_SECONDS
        code, tail = victim.child.exit_code, victim.child.tail(40)
        # Right after its start a process has no handler for the signal yet, and has done nothing.
        has_begun = code != -signal.SIGTERM or tail
        demand(code == 0 or not has_begun, f"at SIGTERM the operator ended with {code}:\n{tail}")
        yield self._between(DOWN_SECONDS)
        victim.start_again()

    def _freeze(self, victim: Replica) -> Fault:
        victim.child.pause()
        yield self._between(FROZEN_SECONDS)
        victim.child.resume()

    def _step(self, victim: Replica) -> Fault:
        assert victim.clock is not None
        most = self._chance.choice(STEP_SECONDS)
        # It stays like this until it is stepped again.
        victim.clock.step(self._chance.uniform(-most, most))
        yield 0

    def _cut(self) -> Fault:
        self._world.relay.cut()
        yield 0

    def _hold(self) -> Fault:
        self._world.relay.hold()
        yield self._between(HELD_SECONDS)
        if self._chance.random() < 0.5:
            self._world.relay.cut()
        self._world.relay.go_on()

    def _kill_first(self) -> Fault:
        self._world.plane.end_api_server()
        yield self._between(DOWN_SECONDS)
        yield from self._wait(self._world.plane.begin_api_server)

    def _kill_second(self) -> Fault:
        self._world.end_second_api_server()
        yield self._between(DOWN_SECONDS)
        yield from self._wait(self._world.begin_second_api_server)
        self._world.admit_second_api_server()

    def _kill_etcd(self) -> Fault:
        self._world.plane.end_etcd()
        yield self._between(DOWN_SECONDS)
        yield from self._wait(self._world.plane.begin_etcd)

    def _refuse(self) -> Fault:
        yield from self._alarm(is_full=True)
        yield self._between(REFUSED_SECONDS)
        yield from self._alarm(is_full=False)

    def _fill(self) -> Fault:
        disk, plane = self._world.disk, self._world.plane
        assert disk is not None
        disk.fill()
        yield self._between(FULL_SECONDS)
        disk.free()
        if plane.etcd_process.exit_code is not None:
            self.ended_by_full_disk += 1
            plane.end_etcd()
            yield from self._wait(plane.begin_etcd)
        else:
            yield from self._wait(
                plane.begin_etcd, Beginning(plane.etcd_process, plane.etcd.is_healthy)
            )

    def _alarm(self, *, is_full: bool) -> Fault:
        deadline = Deadline(READY_SECONDS)
        while True:
            try:
                self._world.plane.etcd.refuse_writes(is_full=is_full)
            except (OSError, http.client.HTTPException) as error:
                demand(not deadline.has_passed(), f"etcd does not answer: {error}")
                yield POLL_SECONDS
            else:
                return

    def _wait(self, begin: Begin, begun: Beginning | None = None) -> Fault:
        """
        Wait until a server is ready; start it again if it ends, as when etcd is down meanwhile.
        """
        deadline = Deadline(READY_SECONDS)
        server = begun or begin()
        while True:
            # A server that has only just begun may hold up the question.
            asked = self._questions.submit(server.is_ready)
            while not asked.done():
                yield POLL_SECONDS
            if asked.result():
                return
            tail = server.child.tail(20)
            demand(not deadline.has_passed(), f"{server.child.name} is not ready:\n{tail}")
            if server.child.exit_code is not None:
                last = tail.rpartition("\n")[2]
                say(f"{server.child.name} ended by itself, and is started again: {last}")
                server = begin()
            yield POLL_SECONDS
