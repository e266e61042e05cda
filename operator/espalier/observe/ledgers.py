"""
What is kept of one definition while the process lives: counts, the run under way, the last runs.
"""

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from espalier.crd import Condition, Definition
from espalier.engine.ports.meter import NO_WRITES, ObjectCounts, Phase, WriteCounts
from espalier.engine.ports.progress import PassProgress
from espalier.names import NON_STRUCTURAL_SCHEMA
from espalier.observe.state import Counters, DefinitionState, PhaseSpan, RunState, state_of

MAX_RUNS = 10
"""How many ended runs are kept."""

MAX_RATES, RATE_SECONDS = 60, 30.0
"""How many rates are kept, and how far they are apart: together half an hour."""


class LiveCounts:
    """
    Adds up what becomes of objects, pass by pass; the pass under way is read where it counts.
    """

    def __init__(self) -> None:
        self._ended = NO_WRITES
        self._live: Callable[[], WriteCounts] | None = None

    def follow(self, counts: Callable[[], WriteCounts]) -> None:
        """
        Keep what the last pass has come to, and read another one from now on.
        """
        self.settle()
        self._live = counts

    def settle(self) -> None:
        """
        Keep what the last pass has come to.
        """
        self._ended, self._live = self.total, None

    @property
    def total(self) -> WriteCounts:
        """
        All counts until now.
        """
        return self._ended if self._live is None else self._ended.plus(self._live())


@dataclass(slots=True, kw_only=True)
class RunRecord:
    """
    A run under way.

    Attributes:
        before: What had become of objects before it.
    """

    id: str
    begun_at: str
    begun_seconds: float
    before: WriteCounts
    is_lease_lost: bool = False
    phase: Phase = Phase.WAIT
    phase_begun_seconds: float = 0.0
    spans: list[PhaseSpan] = field(default_factory=list)

    def enter(self, phase: Phase, now_seconds: float) -> PhaseSpan:
        """
        End the phase before, and return it.
        """
        span = PhaseSpan(phase=self.phase, seconds=now_seconds - self.phase_begun_seconds)
        self.spans.append(span)
        self.phase, self.phase_begun_seconds = phase, now_seconds
        return span

    def state(self, now_seconds: float, writes: WriteCounts) -> RunState:
        """
        Make the record of it as it is now.
        """
        own = WriteCounts(*(a - b for a, b in zip(writes, self.before, strict=True)))
        last = PhaseSpan(phase=self.phase, seconds=now_seconds - self.phase_begun_seconds)
        return RunState(
            id=self.id,
            begun_at=self.begun_at,
            seconds=now_seconds - self.begun_seconds,
            phases=(*self.spans, last),
            writes=own,
        )


class DefinitionLedger:
    """
    One definition.
    """

    def __init__(self, definition: Definition) -> None:
        self.uid = definition.uid
        self._base = state_of(definition)
        self._reported: dict[str, Condition] = {}
        self._rates: deque[float] = deque(maxlen=MAX_RATES)
        self._rated_seconds = float("-inf")
        self.progress: PassProgress | None = None
        self.writes, self.annotations = LiveCounts(), LiveCounts()
        self.outcomes: Counter[str] = Counter()
        self.trims = 0
        self.run: RunRecord | None = None
        self.runs: deque[RunState] = deque(maxlen=MAX_RUNS)
        self.survey: ObjectCounts | None = None
        self.surveyed_at = self.succeeded_at = ""

    def see(self, definition: Definition) -> None:
        """
        Take what the cluster shows; what was reported here since is newer.
        """
        self._base = state_of(definition)

    def report(
        self,
        conditions: tuple[Condition, ...],
        progress: PassProgress | None,
        *,
        now: str,
        now_seconds: float,
    ) -> None:
        """
        Take conditions that were reported, before they are written.
        """
        for one in conditions:
            before = self._condition(one.type)
            is_same = before is not None and before.status == one.status
            since = before.last_transition_time if before is not None and is_same else ""
            self._reported[one.type] = replace(one, last_transition_time=since or now)
        if progress is None:
            return
        self.progress = progress
        rate = progress.objects_per_second
        if rate is not None and now_seconds - self._rated_seconds >= RATE_SECONDS:
            self._rates.append(rate)
            self._rated_seconds = now_seconds

    def state(self, now_seconds: float) -> DefinitionState:
        """
        Make the record of it.
        """
        if not self._base.mode:
            return self._base
        writes = self.writes.total
        types = {one.type for one in self._base.conditions} | self._reported.keys()
        found = (self._condition(type_) for type_ in sorted(types))
        return replace(
            self._base,
            conditions=tuple(one for one in found if one is not None),
            progress=self.progress or self._base.progress,
            run=None if self.run is None else self.run.state(now_seconds, writes),
            runs=tuple(self.runs),
            rates=tuple(self._rates),
            survey=self.survey,
            surveyed_at=self.surveyed_at,
            succeeded_at=self.succeeded_at,
            counters=Counters(
                writes=writes,
                runs=dict(self.outcomes),
                annotations=self.annotations.total.rewritten,
                trims=self.trims,
            ),
        )

    def _condition(self, type_: str) -> Condition | None:
        if type_ != NON_STRUCTURAL_SCHEMA and type_ in self._reported:
            return self._reported[type_]
        return self._base.condition(type_)
