"""
Count the requests to an API server, and how long the server took to begin its responses.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

BOUNDS_SECONDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
"""The buckets of client-go."""


@dataclass(slots=True)
class Durations:
    """
    How long something took each time, in buckets.

    Attributes:
        bounds_seconds: The upper bounds of the buckets but the last one, in order.
        buckets: How often it took that long; the last one is for all that took longer.
    """

    bounds_seconds: Sequence[float] = BOUNDS_SECONDS
    buckets: list[int] = field(init=False)
    sum_seconds: float = 0.0

    def __post_init__(self) -> None:
        self.buckets = [0] * (len(self.bounds_seconds) + 1)

    def add(self, seconds: float) -> None:
        """
        Count once.
        """
        self.buckets[bisect_left(self.bounds_seconds, seconds)] += 1
        self.sum_seconds += seconds


@dataclass(slots=True)
class RequestFigures:
    """
    The figures of all requests through one connection.

    Attributes:
        counts: By method, and by status code or ``<error>`` where there was no response.
        latencies: By method.
    """

    counts: dict[tuple[str, str], int] = field(default_factory=dict)
    latencies: dict[str, Durations] = field(default_factory=dict)

    def add(self, method: str, code: str, seconds: float) -> None:
        """
        Count a request.
        """
        key = (method, code)
        self.counts[key] = self.counts.get(key, 0) + 1
        found = self.latencies.get(method)
        if found is None:
            found = self.latencies[method] = Durations()
        found.add(seconds)
