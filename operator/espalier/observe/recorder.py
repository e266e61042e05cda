"""
Keeps the state of all definitions as the operator works, and makes the record of it.

It belongs to one event loop. What it is given costs a few assignments; the record is made when it
is asked for.
"""

import dataclasses
from collections.abc import Callable, Sequence

from espalier import __version__
from espalier.cluster.figures import Durations
from espalier.crd import Condition, Definition
from espalier.engine.ports.clock import Clock
from espalier.engine.ports.meter import ObjectCounts, Phase, WriteCounts
from espalier.engine.ports.progress import PassProgress
from espalier.engine.ports.reporter import Reporter
from espalier.names import MODE
from espalier.observe.ledgers import DefinitionLedger, RunRecord
from espalier.observe.state import OBSERVED, ArchiveFill, RunState, Snapshot

PHASE_BOUNDS_SECONDS = (0.1, 1.0, 5.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 14_400.0, 43_200.0)


class Recorder:
    """
    Implements ``espalier.engine.ports.meter.Meter``.

    Args:
        archive_fill: Returns how full the archive is; None where it was not counted yet.

    Attributes:
        phase_seconds: How long phases took, of all runs.
        leases: The definitions whose lease this process holds.
        pruned_fields: How many fields Espalier itself has removed, of all definitions.
        watch_restarts: How often a watch of objects began anew.
        resynced_at: When all definitions were listed last; empty before the first time.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        is_read_only: bool = False,
        archive_fill: Callable[[], ArchiveFill | None] = lambda: None,
    ) -> None:
        self._clock = clock
        self._is_read_only = is_read_only
        self._archive_fill = archive_fill
        self._ledgers: dict[str, DefinitionLedger] = {}
        self.phase_seconds = {phase: Durations(PHASE_BOUNDS_SECONDS) for phase in Phase}
        self.leases: set[str] = set()
        self.watch_restarts = self.pruned_fields = 0
        self.resynced_at = ""

    def snapshot(self) -> Snapshot:
        """
        Make the record.
        """
        now_seconds = self._clock.monotonic_seconds()
        return Snapshot(
            taken_at=self._clock.utc_timestamp(),
            version=__version__,
            definitions=tuple(
                ledger.state(now_seconds) for _, ledger in sorted(self._ledgers.items())
            ),
            archive=self._archive_fill(),
            is_read_only=self._is_read_only,
        )

    def see(self, definition: Definition) -> None:
        """
        Take a definition as it was just read.
        """
        ledger = self._ledgers.get(definition.name)
        is_kept = ledger is not None and ledger.uid == definition.uid
        if ledger is None or not is_kept or MODE not in definition.labels:
            self._ledgers[definition.name] = DefinitionLedger(definition)
            return
        ledger.see(definition)

    def forget(self, name: str) -> None:
        """
        Drop a definition that is gone.
        """
        self._ledgers.pop(name, None)
        self.leases.discard(name)

    def resync(self) -> None:
        """
        Record that all definitions were listed.
        """
        self.resynced_at = self._clock.utc_timestamp()

    def report(
        self,
        definition: Definition,
        conditions: Sequence[Condition],
        progress: PassProgress | None = None,
    ) -> None:
        """
        Take conditions that were reported.
        """
        ledger = self._ledgers.get(definition.name)
        if ledger is not None and ledger.uid == definition.uid:
            ledger.report(
                tuple(conditions),
                progress,
                now=self._clock.utc_timestamp(),
                now_seconds=self._clock.monotonic_seconds(),
            )

    def begin_run(self, definition: Definition, run_id: str) -> None:
        """
        Record that a run begins; ``end_run`` must follow.
        """
        ledger = self._ledgers.get(definition.name)
        if ledger is None:
            return
        now_seconds = self._clock.monotonic_seconds()
        ledger.run = RunRecord(
            id=run_id,
            begun_at=self._clock.utc_timestamp(),
            begun_seconds=now_seconds,
            phase_begun_seconds=now_seconds,
            before=ledger.writes.total,
        )

    def end_run(self, name: str, outcome: str, *, reason: str = "") -> RunState | None:
        """
        Record that the run has ended; None if the definition went meanwhile.

        Args:
            outcome: See ``espalier.observe.outcomes``.
        """
        ledger = self._ledgers.get(name)
        if ledger is None or ledger.run is None:
            return None
        now_seconds = self._clock.monotonic_seconds()
        ledger.writes.settle()
        ledger.annotations.settle()
        ended, ledger.run = ledger.run, None
        if ended.is_lease_lost:
            outcome = "lease_lost"
        state = ended.state(now_seconds, ledger.writes.total)
        state = dataclasses.replace(state, outcome=outcome, reason=reason)
        last = state.phases[-1]
        self.phase_seconds[Phase(last.phase)].add(last.seconds)
        ledger.runs.appendleft(state)
        if outcome != OBSERVED:
            ledger.outcomes[outcome] += 1
        if outcome == "verified":
            ledger.succeeded_at = self._clock.utc_timestamp()
        return state

    def enter(self, crd: str, phase: Phase) -> None:
        """
        Record that a run begins a phase.
        """
        ledger = self._ledgers.get(crd)
        if ledger is not None and ledger.run is not None and ledger.run.phase is not phase:
            ended = ledger.run.enter(phase, self._clock.monotonic_seconds())
            self.phase_seconds[Phase(ended.phase)].add(ended.seconds)

    def count_writes(self, crd: str, counts: Callable[[], WriteCounts]) -> None:
        """
        Read the counts of a pass that begins.
        """
        if crd in self._ledgers:
            self._ledgers[crd].writes.follow(counts)

    def count_annotations(self, crd: str, counts: Callable[[], WriteCounts]) -> None:
        """
        Read the counts of annotations that are written.
        """
        if crd in self._ledgers:
            self._ledgers[crd].annotations.follow(counts)

    def survey(self, crd: str, found: ObjectCounts) -> None:
        """
        Record what a survey has found.
        """
        if crd in self._ledgers:
            self._ledgers[crd].survey = found
            self._ledgers[crd].surveyed_at = self._clock.utc_timestamp()

    def prune(self, fields: int) -> None:
        """
        Record how many fields Espalier itself has removed from an object.
        """
        self.pruned_fields += fields

    def trim(self, crd: str) -> None:
        """
        Record that the stored versions were trimmed.
        """
        if crd in self._ledgers:
            self._ledgers[crd].trims += 1

    def hold_lease(self, crd: str, *, is_held: bool) -> None:
        """
        Record whether this process holds the lease of a definition.
        """
        if is_held:
            self.leases.add(crd)
        else:
            self.leases.discard(crd)

    def lose_lease(self, crd: str) -> None:
        """
        Record that another process has the lease.
        """
        ledger = self._ledgers.get(crd)
        if ledger is not None and ledger.run is not None:
            ledger.run.is_lease_lost = True

    def restart_watch(self, crd: str) -> None:
        """
        Record that a watch of objects begins anew.
        """
        del crd
        self.watch_restarts += 1


class RecordingReporter:
    """
    Implements ``Reporter``: records, and passes on.
    """

    def __init__(self, recorder: Recorder, inner: Reporter) -> None:
        self._recorder = recorder
        self._inner = inner

    async def report(
        self,
        definition: Definition,
        conditions: Sequence[Condition],
        progress: PassProgress | None = None,
    ) -> None:
        """
        Publish Espalier's conditions.
        """
        self._recorder.report(definition, conditions, progress)
        await self._inner.report(definition, conditions, progress)
