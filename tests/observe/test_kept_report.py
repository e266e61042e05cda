"""
The report that is kept and read back: its bounds, and what is refused.
"""

import json
import shlex
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from espalier.crd import Condition
from espalier.engine.ports.meter import ObjectCounts
from espalier.names import STORED_OBJECTS_CURRENT
from espalier.observe.advice import advice_for
from espalier.observe.bounded_report import bounded_report
from espalier.observe.fleet import merge_snapshots
from espalier.observe.page import render_file
from espalier.observe.recorder import Recorder
from espalier.observe.report import report_document, report_markdown
from espalier.observe.report_reading import (
    MAX_BYTES,
    UnreadableReportError,
    read_kept_report,
    read_report,
)
from espalier.observe.state import Snapshot
from tests.handlers.world import definition_of
from tests.observe.states import ENFORCED, StillClock

OBJECT = "team-a/secret-object"
# Deeper than any version of Python reads, and smaller than a report may be.
DEEP = "[" * 2_000_000 + "]" * 2_000_000


def snapshot(count: int = 3, labelled: int = 1) -> Snapshot:
    recorder = Recorder(StillClock())
    for number in range(count):
        labels = ENFORCED if number >= count - labelled else {}
        made = definition_of(f"widgets-{number:05}.example.com", labels=labels)
        recorder.see(made)
        if labels:
            condition = Condition(
                type=STORED_OBJECTS_CURRENT,
                status="False",
                reason="Failed",
                message=f"1 object: {OBJECT}",
            )
            recorder.report(made, [condition])
            recorder.begin_run(made, "run-1")
            recorder.survey(made.name, ObjectCounts(objects=5, invalid=1))
            recorder.end_run(made.name, "failed", reason="Failed")
    return recorder.snapshot()


def text_of(taken: Snapshot, *, max_bytes: int = 500_000) -> str:
    return bounded_report(taken, max_bytes=max_bytes, with_messages=False).text


def document(**changes: Any) -> dict[str, Any]:
    return {**report_document(snapshot(), with_messages=True), **changes}


def changed(path: str, value: Any) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(json.dumps(document()))
    *parents, last = path.split(".")
    place: Any = made
    for key in parents:
        place = place[int(key)] if key.isdigit() else place[key]
    place[last] = value
    return made


def test_what_is_kept_is_read_back_and_looks_the_same() -> None:
    taken = snapshot()
    found = read_kept_report({"bucket-0-of-1.json": text_of(taken)})

    assert found.missing == 0
    for render in (render_file, report_markdown):
        assert render(found.snapshot, with_messages=False) == render(taken, with_messages=False)


def test_it_names_no_objects() -> None:
    assert OBJECT not in text_of(snapshot())
    assert OBJECT in bounded_report(snapshot(), max_bytes=10**6, with_messages=True).text


@pytest.mark.parametrize("max_bytes", [2_000, 20_000, 500 * 1024])
def test_it_is_never_larger_and_counts_what_it_leaves_out(max_bytes: int) -> None:
    taken = snapshot(3000, labelled=2)
    text = text_of(taken, max_bytes=max_bytes)
    found = json.loads(text)

    assert len(text.encode()) <= max_bytes
    assert found["leftOut"] == 3000 - len(found["definitions"]) > 0
    # Those with the label come first, wherever they stand in the alphabet.
    names = [one["name"] for one in found["definitions"]]
    assert names[-2:] == ["widgets-02998.example.com", "widgets-02999.example.com"]
    assert read_report(text.encode()).left_out == found["leftOut"]


def test_the_time_alone_is_no_change() -> None:
    clock = StillClock()
    recorder = Recorder(clock)
    recorder.see(definition_of())
    before = bounded_report(recorder.snapshot(), max_bytes=10_000, with_messages=False)
    clock.seconds = 99
    after = bounded_report(recorder.snapshot(), max_bytes=10_000, with_messages=False)

    assert before.text != after.text
    assert before.content == after.content


def test_parts_of_several_replicas_are_one_report() -> None:
    taken = snapshot(4)
    halves = [
        Snapshot(taken_at=f"2026-01-01T00:0{n}:00Z", version="1", definitions=half, left_out=n)
        for n, half in enumerate((taken.definitions[:2], taken.definitions[2:]), start=1)
    ]
    parts = {f"bucket-{n}-of-3.json": text_of(half) for n, half in enumerate(halves)}
    parts["bucket-0-of-1.json"] = text_of(snapshot(9))
    parts["bucket-0-of-1.json"] = parts["bucket-0-of-1.json"].replace(taken.taken_at[:4], "2020")
    found = read_kept_report({**parts, "notes.txt": "{"})

    assert [one.name for one in found.snapshot.definitions] == [
        one.name for one in taken.definitions
    ]
    assert (found.snapshot.taken_at, found.missing) == ("2026-01-01T00:01:00Z", 1)


@pytest.mark.parametrize(
    "path",
    [
        "definitions.0.name",
        "definitions.0.storage",
        "definitions.0.versions.0.name",
        "definitions.2.conditions.0.reason",
        "definitions.2.conditions.0.lastTransitionTime",
        "definitions.2.runs.0.id",
        "definitions.2.runs.0.outcome",
        "espalierVersion",
        "takenAt",
    ],
)
@pytest.mark.parametrize("text", ["$(rm -rf ~)", "a\nb", "<script>", "\x1b[2J", "x" * 300, "a\n"])
def test_texts_that_may_end_in_a_command_have_a_form(path: str, text: str) -> None:
    with pytest.raises(UnreadableReportError):
        read_report(json.dumps(changed(path, text)).encode())


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b"\xff",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b" " * (MAX_BYTES + 1),
        json.dumps(document(kind="Secret")).encode(),
        json.dumps(document(takenAt="2026-99-99T00:00:00Z")).encode(),
        json.dumps(document(leftOut=-1)).encode(),
        json.dumps(document(leftOut=2**60)).encode(),
        json.dumps(document(definitions=[{}])).encode(),
        json.dumps(document(unknown=[[[]]])).replace("[[[]]]", DEEP).encode(),
        json.dumps(changed("definitions.0.mode", "destroy")).encode(),
    ],
    ids=lambda raw: str(raw[:20]),
)
def test_what_is_no_report_is_refused(raw: bytes) -> None:
    with pytest.raises(UnreadableReportError):
        read_report(raw)


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"notes.txt": "x"},
        {"bucket-0-of-1.json": "{"},
        {"bucket-0-of-1.json": "\ud800"},
        {"bucket-0-of-1.json": " " * 2**20 + "{}"},
    ],
    ids=str,
)
def test_what_somebody_else_put_there_is_refused(data: dict[str, str]) -> None:
    with pytest.raises(UnreadableReportError):
        read_kept_report(data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=8,
)


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(
        ["definitions", "definitions.2.runs", "definitions.2.conditions.0.message", "archive"]
    ),
    JSON,
)
def test_any_value_in_any_place_is_refused_or_shown(path: str, value: Any) -> None:
    try:
        found = read_report(json.dumps(changed(path, value)).encode())
    except UnreadableReportError:
        return
    for render in (render_file, report_markdown):
        assert "<script" not in render(found, with_messages=True)


GRANT = (
    "kubectl create clusterrole x --verb=get --resource=secrets"
    " && kubectl label clusterrole x rbac.espalier.dev/aggregate-to-operator=true"
)


def forbidden(message: str) -> dict[str, Any]:
    made = changed("definitions.2.conditions.0.message", message)
    made["definitions"][2]["conditions"][0]["reason"] = "Forbidden"
    return made


def test_no_command_is_taken_from_the_messages_of_a_report() -> None:
    read = read_report(json.dumps(forbidden(f"grant it: {GRANT}")).encode())
    (own,) = [one for one in snapshot().definitions if one.mode]
    (condition,) = own.conditions
    known = replace(condition, reason="Forbidden", message=f"grant it: {GRANT}")

    assert [one.command for one in advice_for(replace(own, conditions=(known,)))] == [GRANT]
    assert GRANT not in report_markdown(read, with_messages=False)
    assert "kubectl describe crd widgets-00002.example.com" in report_markdown(
        read, with_messages=False
    )


def test_each_part_of_a_command_names_the_cluster() -> None:
    (own,) = [one for one in snapshot().definitions if one.mode]
    (condition,) = own.conditions
    known = replace(condition, reason="Forbidden", message=f"grant it: {GRANT}")
    there = replace(own, conditions=(known,), cluster="it's; b")

    (one,) = advice_for(there)

    assert shlex.split(one.command) == shlex.split(
        GRANT.replace("kubectl", """kubectl --context "it's; b\"""")
    )


def test_records_of_clusters_are_merged_and_merged_again() -> None:
    one, two = snapshot(2), snapshot(3)
    first = merge_snapshots({"a": one, "b": two}, {"down": "no"}, taken_at=one.taken_at)
    again = read_report(json.dumps(report_document(first, with_messages=False)).encode())
    merged = merge_snapshots({"file": again, "c": one}, {}, taken_at=one.taken_at)

    assert [(it.cluster, it.name) for it in merged.definitions] == [
        *(("a", it.name) for it in one.definitions),
        *(("b", it.name) for it in two.definitions),
        *(("c", it.name) for it in one.definitions),
    ]
    assert [(it.name, it.failure) for it in merged.clusters] == [
        ("a", ""),
        ("b", ""),
        ("c", ""),
        ("down", "no"),
    ]
    page = render_file(merged, with_messages=False)
    for name in "abc":
        # Where it waits, and where it stands with all others.
        assert page.count(f'<p class="cluster">{name}</p>') == 2
