"""
One run of Espalier's engine, phase by phase.

Run as a program it is a process of its own, so that its memory is its own, too; it imports
nothing that the operator does not. It prints one JSON object.
"""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

import orjson

from benchmarks.migrate_memory import peak_mib
from espalier import cluster, engine
from espalier.cli.event_loop import run
from espalier.crd import Condition, Definition
from espalier.engine import Ports, RunSettings
from espalier.engine.ports.progress import PassProgress

CHECKPOINTS = "bench"
"""The namespace of the checkpoint and the lease."""

# Nothing bounds the rate but the server: the byte budget is there for the sake of etcd's quota.
SETTINGS = RunSettings(settle_seconds=0, bytes_per_second=1 << 40)

Traffic = tuple[int, int]
"""Bytes sent and received so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRun:
    """
    What a run has taken.

    Attributes:
        rewrite_seconds: Of the pass that rewrites, with the lists of its pages.
        verify_seconds: Of the passes that prove it, and the trim.
        total_seconds: From the start to the trim.
        rewrite_cpu_seconds: Of the client, in the pass that rewrites.
        total_cpu_seconds: Of the client, from the start to the trim.
        sent_bytes: By the client in the pass that rewrites; 0 if nobody counted.
        received_bytes: Likewise.
        peak_rss_mib: Of the process, from its start.
        second_half_over_first: The rate of the second half of the rewriting pass over that of the
            first; 1.0 where there are too few pages to tell.
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


class _Moment(NamedTuple):
    seconds: float
    cpu_seconds: float
    traffic: Traffic


@dataclass(slots=True)
class _Stopwatch:
    """
    Notes when a run comes to a phase.
    """

    count: Callable[[], Traffic]
    begun: dict[str, _Moment] = field(default_factory=dict)
    pages: list[tuple[int, float]] = field(default_factory=list)

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
                self.pages.append((progress.done, time.perf_counter()))
        elif conditions[0].status == "True":
            self.note("done")

    def halves(self) -> float:
        """
        Tell the rate of the second half of the rewriting pass over that of the first.
        """
        (first, begun), (last, ended) = self.pages[0], self.pages[-1]
        middle, halfway = next(page for page in self.pages if page[0] * 2 >= last)
        if not first < middle < last:
            return 1.0
        return (last - middle) / (ended - halfway) * (halfway - begun) / (middle - first)

    def note(self, phase: str) -> None:
        moment = _Moment(time.perf_counter(), time.process_time(), self.count())
        self.begun.setdefault(phase, moment)


async def run_engine(
    kubeconfig: str, name: str, *, count: Callable[[], Traffic] = lambda: (0, 0)
) -> EngineRun:
    """
    Migrate the objects of one definition, labelled for it.

    Args:
        count: Counts the bytes on the wire.

    Raises:
        SystemExit: The run proved nothing.
    """
    watch = _Stopwatch(count)
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
    if not outcome.is_proved:
        raise SystemExit(f"not proved: {outcome.conditions}")
    start, rewriting, verifying, done = (
        watch.begun[phase] for phase in ("start", "rewriting", "verifying", "done")
    )
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
    )


def main() -> None:
    """
    Migrate the definition that is named, by the kubeconfig that is named.
    """
    kubeconfig, name = sys.argv[1:]
    sys.stdout.buffer.write(orjson.dumps(asdict(run(run_engine(kubeconfig, name)))))


if __name__ == "__main__":
    main()
