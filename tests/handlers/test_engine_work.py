"""
A whole run of the engine, as it is recorded and logged.
"""

import logging
from dataclasses import replace

import pytest

from espalier.engine import RunSettings
from espalier.engine.ports.meter import WriteCounts
from espalier.engine.status.conditions import read_progress
from espalier.errors import LeaseLostError
from espalier.handlers.engine_work import EngineWork
from espalier.handlers.logs import TextFormatter
from espalier.observe.recorder import Recorder, RecordingReporter
from espalier.observe.state import DefinitionState
from tests.fakes.cluster import FakeCluster
from tests.fakes.widgets import widgets

SETTINGS = RunSettings(settle_seconds=5, page_size=4, max_in_flight=1)


class RecordedWork:
    """
    The engine on a cluster in memory, with a recorder.
    """

    def __init__(self, cluster: FakeCluster) -> None:
        self.cluster = cluster
        self.recorder = Recorder(cluster.clock)
        ports = replace(cluster.ports, meter=self.recorder)
        reporter = RecordingReporter(self.recorder, cluster)
        self.work = EngineWork(ports, SETTINGS, reporter, self.recorder)

    async def run(self) -> None:
        assert self.cluster.definition is not None
        self.recorder.see(self.cluster.definition)
        await self.work.run(self.cluster.definition)

    @property
    def state(self) -> DefinitionState:
        (found,) = self.recorder.snapshot().definitions
        return found


async def test_in_the_middle_of_a_run_each_object_is_counted_and_the_condition_agrees() -> None:
    recorded = RecordedWork(FakeCluster(widgets()))
    recorded.cluster.fill(10)
    seen: list[tuple[int, int]] = []

    def look(call: str, _: str) -> None:
        if call == "rewrite" and recorded.state.run is not None:
            # Those before this one are done.
            seen.append(
                (recorded.cluster.count("rewrite") - 1, recorded.state.run.writes.rewritten)
            )
            current, progress = recorded.state.current, recorded.state.progress
            if current is not None and current.reason == "Rewriting":
                assert progress is not None
                assert read_progress(current) == replace(progress, objects_per_second=None)

    recorded.cluster.hooks.append(look)
    await recorded.run()

    assert seen[:10] == [(done, done) for done in range(10)]


async def test_at_the_end_of_a_run_its_phases_and_counts_are_kept() -> None:
    recorded = RecordedWork(FakeCluster(widgets()))
    recorded.cluster.fill(10)
    await recorded.run()

    state = recorded.state
    (ended,) = state.runs
    assert state.run is None
    assert (ended.outcome, ended.reason) == ("verified", "Verified")
    assert ended.writes.rewritten == 10
    names = [one.phase for one in ended.phases]
    assert names == ["wait", "preflight", "rewrite", "settle", "verify", "trim", "survey"]
    seconds = {one.phase: one.seconds for one in ended.phases}
    assert sum(seconds.values()) == pytest.approx(ended.seconds)
    assert state.counters.trims == 1
    assert state.counters.runs == {"verified": 1}
    assert state.survey is not None
    assert state.survey.objects == 10
    assert state.current is not None
    assert state.current == replace(
        recorded.cluster.reports[-1][0], last_transition_time=state.current.last_transition_time
    )


async def test_a_run_that_finds_another_holder_is_counted_so() -> None:
    recorded = RecordedWork(FakeCluster(widgets()))
    recorded.cluster.fill(3)

    def refuse(call: str, name: str) -> None:
        if call == "acquire":
            raise LeaseLostError(name, "another")

    recorded.cluster.hooks.append(refuse)
    await recorded.run()

    (ended,) = recorded.state.runs
    assert ended.outcome == "lease_lost"
    assert ended.writes == WriteCounts()
    assert recorded.recorder.leases == set()


async def test_one_line_at_the_end_of_a_run_has_its_id_and_its_rate(
    caplog: pytest.LogCaptureFixture,
) -> None:
    recorded = RecordedWork(FakeCluster(widgets()))
    recorded.cluster.fill(10)
    lines: list[str] = []

    class Keeper(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(TextFormatter().format(record))

    logger, keeper = logging.getLogger("espalier"), Keeper()
    logger.addHandler(keeper)
    try:
        with caplog.at_level(logging.INFO, logger="espalier"):
            await recorded.run()
    finally:
        logger.removeHandler(keeper)

    (last,) = [line for line in lines if ": The run ended." in line]
    (ended,) = recorded.state.runs
    assert f" run={ended.id} crd=widgets.example.com outcome=verified reason=Verified " in last
    assert " rewritten=10 " in last
    assert " objects_per_second=" in last
    # All that the run logs can be found by its id.
    assert all(f" run={ended.id}" in line for line in lines)
    assert len(lines) > 1
