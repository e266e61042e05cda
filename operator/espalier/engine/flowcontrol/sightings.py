"""
Since when a process has seen each definition unchanged.

A definition's ``generation`` rises with each change of its spec, and never falls while the
definition lives. So one that has the same generation as at an earlier look was not changed in
between, even if no look came in between. A label does not change it.
"""

from typing import NamedTuple

from espalier.crd import Definition
from espalier.engine.ports.clock import Clock


class _Sighting(NamedTuple):
    uid: str
    generation: int
    storage: str
    since_seconds: float


class Sightings:
    """
    Remembers the first look at each definition as it is now.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._first: dict[str, _Sighting] = {}

    def see(self, definition: Definition) -> float:
        """
        Record a definition that was just read.

        Returns:
            Since when it was seen unchanged, by the monotonic clock.
        """
        now = _Sighting(
            definition.uid,
            definition.generation,
            # An etcd that was restored from a backup may show a generation a second time.
            definition.storage.name,
            self._clock.monotonic_seconds(),
        )
        first = self._first.get(definition.name, now)
        if first[:-1] != now[:-1]:
            first = now
        self._first[definition.name] = first
        return first.since_seconds

    def forget(self, name: str) -> None:
        """
        Forget a definition that is gone.
        """
        self._first.pop(name, None)
