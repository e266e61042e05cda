"""
Measure one run of Espalier's engine, phase by phase.

It runs as a process of its own, so that its memory can be measured, and imports nothing that the
operator does not import. It prints one JSON object.
"""

import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

import orjson

from benchmarks.migrate_memory import peak_mib, resident_mib
from espalier import cluster, engine
from espalier.cli.event_loop import run
from espalier.crd import Condition, Definition
from espalier.engine import Ports, RunSettings
from espalier.engine.policy.evidence import Evidence, Verdict
from espalier.engine.ports import StoredMetadata
from espalier.engine.ports.progress import PassProgress

CHECKPOINTS = "bench"
"""The namespace of the checkpoint and the lease."""

# Only the server limits the rate. The byte budget is off; it exists to respect etcd's quota.
SETTINGS = RunSettings(settle_seconds=0, bytes_per_second=1 << 40)

Traffic = tuple[int, int]
"""The bytes sent and received so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRun:
    """
    The time, memory and bytes of one run.

    Attributes:
        rewrite_seconds: The time of the rewriting pass, including the lists of its pages.
        verify_seconds: The time of the verifying passes and of the trim.
        total_seconds: The time from the start to the trim.
        rewrite_cpu_seconds: The client's CPU time in the rewriting pass.
        total_cpu_seconds: The client's CPU time from the start to the trim.
        sent_bytes: The bytes that the client sent in the rewriting pass; 0 if not counted.
        received_bytes: The bytes that the client received in the rewriting pass; 0 if not counted.
        peak_rss_mib: The peak memory of the process since its start.
        second_half_over_first: The rate of the second half of the rewriting pass divided by that
            of the first; 1.0 if there are too few pages.
        judged: How many objects were looked at, since they might have lost something.
        patches: All PATCH requests of the run, dry runs and renewals of the lease among them.
        first_tenth_per_second: The rate of the first tenth of the rewriting pass; 0 if there are
            too few pages.
        first_tenth_rss_mib: The resident memory at the end of that tenth.
        last_tenth_rss_mib: The resident memory at the end of the rewriting pass.
    """

    rewrite_seconds: float
    verify_seconds: float
    total_seconds: float
    rewrite_cpu_seconds: float
    total_cpu_seconds: float
    sent_bytes: int
    received_bytes: int
    peak_rss_mib: float
    second_half_over_first: float
    judged: int = 0
    patches: int = 0
    first_tenth_per_second: float = 0.0
    last_tenth_per_second: float = 0.0
    first_tenth_rss_mib: float = 0.0
    last_tenth_rss_mib: float = 0.0


class _Page(NamedTuple):
    done: int
    seconds: float
    rss_mib: float

    def rate_since(self, earlier: "_Page") -> float:
        return (self.done - earlier.done) / (self.seconds - earlier.seconds)


class _Moment(NamedTuple):
    seconds: float
    cpu_seconds: float
    traffic: Traffic


@dataclass(slots=True)
class _Stopwatch:
    """
    Record when a run reaches each phase.
    """

    count: Callable[[], Traffic]
    begun: dict[str, _Moment] = field(default_factory=dict)
    pages: list[_Page] = field(default_factory=list)

    async def report(
        self,
        definition: Definition,
        conditions: Sequence[Condition],
        progress: PassProgress | None = None,
    ) -> None:
        del definition
        if progress is not None:
            self.note(progress.phase)
            if progress.phase == "rewriting":
                self.pages.append(_Page(progress.done, time.perf_counter(), resident_mib()))
        elif conditions[0].status == "True":
            self.note("done")

    def halves(self) -> float:
        """
        Return the rate of the rewriting pass's second half divided by that of its first half.
        """
        first, middle, last = self.pages[0], self.page_at(0.5), self.pages[-1]
        if not first.done < middle.done < last.done:
            return 1.0
        return last.rate_since(middle) / middle.rate_since(first)

    def page_at(self, share: float) -> _Page:
        """
        Return the first page with which this share of the rewriting pass was done.
        """
        return next(page for page in self.pages if page.done >= self.pages[-1].done * share)

    def tenths(self) -> tuple[float, float]:
        """
        Return the rates of the first and of the last tenth of the rewriting pass, or zeros.
        """
        first, one, nine, last = self.pages[0], *map(self.page_at, (0.1, 0.9)), self.pages[-1]
        if not first.done < one.done < nine.done < last.done:
            return 0.0, 0.0
        return one.rate_since(first), last.rate_since(nine)

    def note(self, phase: str) -> None:
        moment = _Moment(time.perf_counter(), time.process_time(), self.count())
        self.begun.setdefault(phase, moment)


async def run_engine(
    kubeconfig: str, name: str, *, count: Callable[[], Traffic] = lambda: (0, 0)
) -> EngineRun:
    """
    Migrate the objects of one labelled definition.

    Args:
        count: Returns the bytes sent and received so far.

    Raises:
        SystemExit: The run did not prove that all objects are current.
    """
    watch, judged = _Stopwatch(count), _count_judged()
    async with cluster.connect(kubeconfig) as connected:
        ports = Ports(
            objects=connected.objects,
            definitions=connected.definitions,
            rights=connected.rights,
            checkpoints=connected.checkpoints(CHECKPOINTS),
            archive=connected.archive(CHECKPOINTS),
            namespace=CHECKPOINTS,
            leases=connected.leases(CHECKPOINTS),
            clock=connected.clock,
        )
        watch.note("start")
        found = await connected.definitions.get_definition(name)
        outcome = await engine.run(found, ports, SETTINGS, watch)
        requests = connected.connection.figures.counts
    if not outcome.is_proved:
        raise SystemExit(f"not proved: {outcome.conditions}")
    start, rewriting, verifying, done = (
        watch.begun[phase] for phase in ("start", "rewriting", "verifying", "done")
    )
    first_tenth, last_tenth = watch.tenths()
    return EngineRun(
        rewrite_seconds=verifying.seconds - rewriting.seconds,
        verify_seconds=done.seconds - verifying.seconds,
        total_seconds=done.seconds - start.seconds,
        rewrite_cpu_seconds=verifying.cpu_seconds - rewriting.cpu_seconds,
        total_cpu_seconds=done.cpu_seconds - start.cpu_seconds,
        sent_bytes=verifying.traffic[0] - rewriting.traffic[0],
        received_bytes=verifying.traffic[1] - rewriting.traffic[1],
        peak_rss_mib=peak_mib(),
        second_half_over_first=watch.halves(),
        judged=judged.total(),
        patches=sum(times for (method, _), times in requests.items() if method == "PATCH"),
        first_tenth_per_second=first_tenth,
        last_tenth_per_second=last_tenth,
        first_tenth_rss_mib=watch.page_at(0.1).rss_mib,
        last_tenth_rss_mib=watch.pages[-1].rss_mib,
    )


def _count_judged() -> Counter[str]:
    """
    Count from now on the objects that are judged by evidence that does not clear all of them.
    """
    judged: Counter[str] = Counter()
    judge = Evidence.judge

    def counted(evidence: Evidence, metadata: StoredMetadata) -> Verdict:
        judged["objects"] += not evidence.is_harmless
        return judge(evidence, metadata)

    Evidence.judge = counted  # type: ignore[assignment,method-assign]
    return judged


def main() -> None:
    """
    Migrate the definition of the given name with the given kubeconfig.
    """
    kubeconfig, name = sys.argv[1:]
    sys.stdout.buffer.write(orjson.dumps(asdict(run(run_engine(kubeconfig, name)))))


if __name__ == "__main__":
    main()
