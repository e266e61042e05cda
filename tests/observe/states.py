"""
Recorders with something in them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from espalier.cluster.figures import RequestFigures
from espalier.crd import Condition, Definition, Version
from espalier.engine.flowcontrol.budget import Budget
from espalier.engine.ports.meter import ObjectCounts, Phase, WriteCounts
from espalier.engine.ports.progress import PassProgress
from espalier.engine.ports.state import Bucket
from espalier.engine.status import conditions
from espalier.engine.status.conditions import Reason
from espalier.names import STORED_OBJECTS_VALID
from espalier.observe.metrics import Sources
from espalier.observe.recorder import Recorder
from tests.handlers.world import definition_of

ENFORCED = {"espalier.dev/mode": "enforce"}
STARTED_AT = 1_790_000_000
VALID = Condition(
    type=STORED_OBJECTS_VALID, status="True", reason="Valid", message="no object violates it"
)


@dataclass
class StillClock:
    """
    Stands still unless a test moves it.
    """

    seconds: float = 0.0

    def monotonic_seconds(self) -> float:
        return self.seconds

    def utc_timestamp(self) -> str:
        now = datetime.fromtimestamp(STARTED_AT + self.seconds, UTC)
        return now.strftime("%Y-%m-%dT%H:%M:%SZ")

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


@dataclass
class Queue:
    depth: int = 0
    retries: int = 0


class Held:
    is_paused = False

    def list_held(self) -> tuple[Bucket, ...]:
        return (Bucket(2, 3),)


def counts(**found: int) -> Callable[[], WriteCounts]:
    return lambda: WriteCounts(**found)


def sources_of(recorder: Recorder, clock: StillClock) -> Sources:
    return Sources(
        recorder=recorder,
        budget=Budget(clock),
        requests=RequestFigures(),
        queue=Queue(),
        buckets=Held(),
    )


def versions(*names: str, served: tuple[str, ...] = ()) -> tuple[Version, ...]:
    """
    Make versions, of which the last one is the storage version.
    """
    return tuple(
        Version(name=name, served=name in (served or names), storage=name == names[-1], schema={})
        for name in names
    )


def migrating(name: str = "widgets.example.com", **changes: object) -> Definition:
    found = definition_of(
        name,
        labels=ENFORCED,
        versions=versions("v1alpha1", "v1"),
        stored_versions=("v1alpha1", "v1"),
    )
    return replace(found, **changes)  # type: ignore[arg-type]  # a test knows the fields


def rewrite(
    recorder: Recorder, definition: Definition, *, done: int, total: int | None
) -> PassProgress:
    """
    Record that a run is rewriting.
    """
    progress = PassProgress(phase="rewriting", done=done, total=total, objects_per_second=50.0)
    recorder.see(definition)
    recorder.begin_run(definition, "0a1b2c3d")
    recorder.enter(definition.name, Phase.REWRITE)
    recorder.count_writes(definition.name, counts(rewritten=done))
    reported = conditions.rewriting(definition, str(progress), done=done, total=total)
    recorder.report(definition, reported, progress)
    return progress


def prove(recorder: Recorder, definition: Definition, *, objects: int) -> None:
    """
    Record a run from its beginning to its proof.
    """
    name = definition.name
    rewrite(recorder, definition, done=objects, total=objects)
    recorder.enter(name, Phase.SETTLE)
    recorder.enter(name, Phase.VERIFY)
    recorder.count_writes(name, counts(unchanged=objects))
    verified = PassProgress(phase="verifying", number=1, done=objects, total=objects)
    recorder.report(definition, conditions.not_current(Reason.REWRITING, "x"), verified)
    recorder.enter(name, Phase.TRIM)
    recorder.trim(name)
    recorder.enter(name, Phase.SURVEY)
    recorder.survey(name, ObjectCounts(objects=objects))
    proved = conditions.current(definition, objects=objects)
    recorder.report(definition, (*proved, VALID))
    recorder.end_run(name, "verified", reason="Verified")
