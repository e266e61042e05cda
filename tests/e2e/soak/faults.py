"""
The faults of a soak, each with its own repair.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Mapping

from tests.e2e.chaos.demanding import insist
from tests.e2e.replicas import holder_of
from tests.e2e.soak.world import REPLICAS, World

FROZEN_SECONDS = (0.5, 8.0)
HELD_SECONDS = (0.3, 4.0)
FULL_SECONDS = (0.5, 4.0)

WEIGHTS: Mapping[str, int] = {
    "operator killed": 40,
    "operator ended": 8,
    "operator stopped and continued": 8,
    "connections cut": 24,
    "connections held up": 8,
    "API server killed": 5,
    "second API server killed": 5,
    "etcd killed": 2,
    "etcd without space": 4,
}
"""How often each comes, of all faults."""


class Faults:
    """
    Breaks one thing at a time, by chance.

    Args:
        lease: That of the bucket, whose holder is hit more often than the others.

    Attributes:
        counts: How often each has come.
    """

    def __init__(self, world: World, chance: random.Random, lease: str) -> None:
        self._world = world
        self._chance = chance
        self._lease = lease
        self.counts: Counter[str] = Counter()
        self._ways: Mapping[str, Callable[[], None]] = {
            "operator killed": lambda: world.kill_replica(self._victim()),
            "operator ended": lambda: world.end_replica(self._victim()),
            "operator stopped and continued": self._freeze,
            "connections cut": self._cut,
            "connections held up": self._hold,
            "API server killed": world.plane.restart_api_server,
            "second API server killed": world.restart_second_api_server,
            "etcd killed": world.plane.restart_etcd,
            "etcd without space": self._fill,
        }

    def strike(self) -> str:
        """
        Let one fault happen, and end it; return its name.
        """
        names = list(WEIGHTS)
        (name,) = self._chance.choices(names, [WEIGHTS[one] for one in names])
        self._ways[name]()
        self.counts[name] += 1
        return name

    def _victim(self) -> int:
        if self._chance.random() < 0.2:
            return self._chance.randrange(REPLICAS)
        holder = insist(lambda: holder_of(self._world.plane, self._lease))
        for number, one in enumerate(self._world.replicas):
            if f"_{one.child.pid}_" in holder:
                return number
        return self._chance.randrange(REPLICAS)

    def _freeze(self) -> None:
        child = self._world.replicas[self._victim()].child
        child.pause()
        time.sleep(self._chance.uniform(*FROZEN_SECONDS))
        child.resume()

    def _cut(self) -> None:
        self._world.relay.cut()

    def _hold(self) -> None:
        self._world.relay.hold()
        time.sleep(self._chance.uniform(*HELD_SECONDS))
        if self._chance.random() < 0.5:
            self._world.relay.cut()
        self._world.relay.go_on()

    def _fill(self) -> None:
        self._world.plane.etcd.refuse_writes(is_full=True)
        time.sleep(self._chance.uniform(*FULL_SECONDS))
        self._world.plane.etcd.refuse_writes(is_full=False)
