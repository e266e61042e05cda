"""
Condition, metrics, page, report and status show the same numbers, in the middle of a run and after.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from espalier.names import STORED_OBJECTS_CURRENT
from espalier.observe.bounded_report import bounded_report
from espalier.observe.metrics import exposition, registry_of
from espalier.observe.page import render_definition, render_page
from espalier.observe.recorder import Recorder
from espalier.observe.report import report_document, report_markdown
from espalier.observe.report_reading import read_report
from espalier.observe.state import Snapshot, snapshot_of
from tests.observe.states import StillClock, migrating, prove, rewrite, sources_of
from tests.observe.test_metrics import series, value
from tests.observe.test_page import Reader

CRD = "widgets.example.com"


class Seen(NamedTuple):
    """
    The record of an operator, and what a command makes of the conditions that it has written.
    """

    recorder: Recorder
    clock: StillClock
    live: Snapshot
    read: Snapshot

    def metric(self, name: str, **labels: str) -> float | None:
        text = exposition(registry_of(sources_of(self.recorder, self.clock)))
        return value(series(text), name, **labels)

    def reported(self) -> Iterator[Any]:
        kept = bounded_report(self.live, max_bytes=10**6, with_messages=True).text
        for snapshot in (self.live, self.read, read_report(kept.encode())):
            document: Any = report_document(snapshot, with_messages=True)
            yield from document["definitions"]

    def texts(self) -> Iterator[str]:
        kept = bounded_report(self.live, max_bytes=10**6, with_messages=False).text
        for snapshot in (self.live, self.read, read_report(kept.encode())):
            yield Reader(render_page(snapshot, with_messages=False)).text
            yield Reader(render_definition(snapshot, CRD, with_messages=False) or "").text
            yield report_markdown(snapshot, with_messages=False)


def seen(recorder: Recorder, clock: StillClock, stored: tuple[str, ...]) -> Seen:
    recorder.see(migrating(stored_versions=stored))
    live = recorder.snapshot()
    (one,) = live.definitions
    written = replace(migrating(stored_versions=stored), conditions=one.conditions)
    return Seen(recorder, clock, live, snapshot_of([written], taken_at=live.taken_at))


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


def test_in_the_middle_of_a_run(clock: StillClock) -> None:
    recorder = Recorder(clock)
    rewrite(recorder, migrating(), done=1234, total=5000)
    now = seen(recorder, clock, ("v1alpha1", "v1"))

    (condition,) = now.live.definitions[0].conditions
    assert condition.message.startswith("rewriting: 1234 of 5000 objects,")
    objects = "espalier_run_objects"
    assert now.metric(objects, crd=CRD, phase="rewrite", state="done") == 1234
    assert now.metric(objects, crd=CRD, phase="rewrite", state="remaining") == 5000 - 1234
    assert now.metric("espalier_definition_stored_versions", crd=CRD) == 2
    for one in now.reported():
        progress = {key: one["progress"][key] for key in ("pass", "done", "total")}
        assert progress == {"pass": "rewriting", "done": 1234, "total": 5000}
        assert one["storedVersions"] == ["v1alpha1", "v1"]
        assert one["conditions"][0]["message"] == condition.message
    for text in now.texts():
        assert "1,234 of 5,000" in text


def test_at_the_end_of_a_run(clock: StillClock) -> None:
    recorder = Recorder(clock)
    prove(recorder, migrating(), objects=5000)
    now = seen(recorder, clock, ("v1",))

    (condition,) = [
        c for c in now.live.definitions[0].conditions if c.type == STORED_OBJECTS_CURRENT
    ]
    labels = {"crd": CRD, "type": STORED_OBJECTS_CURRENT, "status": "True", "reason": "Verified"}
    assert "all 5000 stored objects" in condition.message
    assert now.metric("espalier_definition_condition", **labels) == 1
    assert now.metric("espalier_stored_objects", crd=CRD) == 5000
    assert now.metric("espalier_object_writes_total", crd=CRD, result="rewritten") == 5000
    assert now.metric("espalier_definition_stored_versions", crd=CRD) == 1
    for one in now.reported():
        current = one["conditions"][0]
        assert (current["status"], current["reason"]) == ("True", "Verified")
        assert current["message"] == condition.message
        assert (one["storedVersions"], one["stage"]) == (["v1"], "T4")
    for text in now.texts():
        assert "Verified" in text
