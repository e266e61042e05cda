"""
What a run is given: its ports and its settings.
"""

from dataclasses import dataclass

from espalier.engine.flowcontrol.budget import DEFAULT_BYTES_PER_SECOND, Budget
from espalier.engine.flowcontrol.pacer import Pacer
from espalier.engine.flowcontrol.sightings import Sightings
from espalier.engine.ports.archive import Archive
from espalier.engine.ports.clock import Clock
from espalier.engine.ports.definitions import Definitions, Rights
from espalier.engine.ports.meter import UNMETERED, Meter
from espalier.engine.ports.objects import Objects
from espalier.engine.ports.state import Checkpoints, Leases, WriteFence
from espalier.engine.ports.workers import Workers


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordPorts:
    """
    Where what is known of a definition is kept, what points to it, and who compares by it.
    """

    checkpoints: Checkpoints
    definitions: Definitions
    clock: Clock
    workers: Workers | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """
    The world as a run sees it.

    Attributes:
        namespace: Where leases, checkpoints and archives are kept.
        budget: What all who write in this process share; None gives each run one of its own, by
            its settings.
        sightings: What this process has seen of all definitions; None if a run sees them first.
        workers: Examine and compare what takes long; None to do all in the event loop.
        meter: Counts what runs do.
        fence: Decides whether this process may write for a definition; None where one process alone
            works, as a command does.
    """

    objects: Objects
    definitions: Definitions
    rights: Rights
    checkpoints: Checkpoints
    archive: Archive
    leases: Leases
    clock: Clock
    namespace: str
    budget: Budget | None = None
    sightings: Sightings | None = None
    workers: Workers | None = None
    meter: Meter = UNMETERED
    fence: WriteFence | None = None

    @property
    def record(self) -> RecordPorts:
        """
        Those that have to do with the record.
        """
        return RecordPorts(
            checkpoints=self.checkpoints,
            definitions=self.definitions,
            clock=self.clock,
            workers=self.workers,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """
    How a run goes about its work.

    Attributes:
        settle_seconds: For so long a run has seen the definition unchanged before it verifies.
        page_size: The most objects in a page.
        sample_least: Of the objects that a write after the settle time has proved, at least so
            many are written again in the verify pass.
        max_in_flight: The most writes at a time.
        bytes_per_second: The most bytes that are written to etcd, from sampled sizes, where the
            ports have no budget.
        writes_per_second: The most writes, likewise; None for no bound.
        resurvey_seconds: The least time between two surveys of objects that nothing is known to
            have changed.
        reading_share: The most of the time that surveys of a definition read; what takes long to
            read is read less often. Above 0, and at most 1.
        again: Rewrite and prove all objects once more, though that is done already.
        only_failed: Try the objects again that failed in the last pass, and no others; it proves
            nothing, and trims nothing.
        waits_for_lease: Wait for a lease that another process holds, until it is released or its
            holder is known to be dead. A caller that tries again later need not wait.
        is_read_only: Write neither objects nor stored versions.
        is_rehearsal: No write is kept, so that the settle time need not be waited for; see
            ``rehearsed``.
    """

    settle_seconds: float = 30.0
    page_size: int = 500
    sample_least: int = 2000
    max_in_flight: int = 48
    bytes_per_second: float = DEFAULT_BYTES_PER_SECOND
    writes_per_second: float | None = None
    resurvey_seconds: float = 3600.0
    reading_share: float = 0.01
    again: bool = False
    only_failed: bool = False
    waits_for_lease: bool = False
    is_read_only: bool = False
    is_rehearsal: bool = False

    def resurvey_after(self, reading_seconds: float) -> float:
        """
        Return how long to wait for the next survey.

        Args:
            reading_seconds: How long the last one took.
        """
        return max(self.resurvey_seconds, reading_seconds * (1 / self.reading_share - 1))


def pacer_of(settings: RunSettings, ports: Ports) -> Pacer:
    """
    Make what bounds the writes of a run.
    """
    budget = ports.budget or Budget(
        ports.clock,
        bytes_per_second=settings.bytes_per_second,
        writes_per_second=settings.writes_per_second,
        max_in_flight=settings.max_in_flight,
    )
    return Pacer(ports.clock, max_in_flight=settings.max_in_flight, budget=budget)
