"""
What a soak concludes from an audit log, and the clock that it steps.
"""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.e2e.controlplane.auditing import Request
from tests.e2e.soak import clocks, records
from tests.e2e.soak.clocks import Clock
from tests.e2e.soak.evidence import fenced_writes, lost_objects, tenures_of
from tests.e2e.writes import NAMESPACE

LEASE = "bucket"
START = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = 3600


def request(second: float, credential: str, resource: str = "storms", code: int = 200) -> Request:
    received = START + timedelta(seconds=second)
    return Request(
        user="espalier",
        user_agent="espalier/0",
        credential=credential,
        verb="patch",
        group="",
        resource=resource,
        namespace=NAMESPACE,
        name=LEASE if resource == "leases" else "o1",
        path="/",
        received=received,
        answered=received + timedelta(seconds=0.5),
        code=code,
        body=None,
    )


def test_a_write_after_another_replica_has_taken_the_lease_is_found() -> None:
    leases = [
        request(0, "a", "leases"),
        request(2, "a", "leases"),
        request(8, "a", "leases", code=409),
        request(7, "b", "leases"),
    ]
    writes = [request(1, "a"), request(7.4, "a"), request(7.6, "a"), request(8, "b")]

    tenures = tenures_of(leases, LEASE)

    assert [one.credential for one in tenures] == ["a", "b"]
    assert fenced_writes(writes[:2] + writes[3:], tenures) == []
    (late,) = fenced_writes(writes, tenures)
    assert late.endswith("by a")


def test_objects_that_changed_vanished_or_came_again_are_found() -> None:
    def obj(name: str, value: int, uid: str) -> dict[str, object]:
        return {"metadata": {"uid": uid}, "spec": {"value": value, "note": name}}

    uids = {name: f"u{name}" for name in "abcd"}
    expected = {"a": 1, "b": 2, "c": 3, "d": None}
    stored = {name: obj(name, value, uids[name]) for name, value in (("a", 1), ("b", 2), ("c", 3))}

    assert lost_objects(stored, expected, uids) == []
    stored = {"a": obj("a", 9, "ua"), "b": obj("b", 2, "other"), "e": obj("e", 1, "ue")}
    assert lost_objects(stored, expected, uids) == [
        "a: 9, and not 1",
        "c: None, and not 3",
        "e: came from nowhere",
        "b: was created anew",
    ]


def test_a_running_process_sees_its_clock_stepped_and_measures_time_as_before(
    tmp_path: Path,
) -> None:
    library = clocks.build(tmp_path)
    if library is None:
        pytest.skip("no clock can be stepped: that needs Linux and a C compiler (apt install gcc)")
    clock = Clock(library, tmp_path / "clock")
    # One line for each that comes in.
    program = "import sys, time\nfor _ in sys.stdin: print(time.time(), time.monotonic())"
    with subprocess.Popen(  # noqa: S603 - this very interpreter
        [sys.executable, "-uc", program],
        env=os.environ | clock.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        seen = []
        for step in (0, HOUR, -2 * HOUR):
            clock.step(step)
            process.stdin.write("\n")
            process.stdin.flush()
            wall, monotonic = map(float, process.stdout.readline().split())
            seen.append(wall - monotonic)
        process.stdin.close()

    steps = [round((later - seen[0]) / HOUR, 2) for later in seen]
    assert steps == [0, 1, -2]


def test_the_table_sums_up_all_runs_and_names_those_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "FILE", tmp_path / "build" / "soak.jsonl")
    record = {
        "seed": 1,
        "commit": "abc",
        "objects": 10_000,
        "faults": 3,
        "by_kind": {"etcd killed": 1, "operator killed": 2},
        "trims": 4,
        "writes_of_others": 5000,
        "writes_of_espalier": 6000,
        "seconds": 70,
        "failure": "",
    }
    counts = dict.fromkeys(("lost", "false_trims", "fenced_writes", "hidden_erased"), 0)
    records.append(record | counts)
    records.append(record | {"seed": 2, "failure": "not trimmed"})

    text = records.table()

    assert "| 1 | abc | 10,000 | 3 | 4 | 5,000, 6,000 | 0 | 0 | 0 | 0 | 70 s |" in text
    assert "| unknown | unknown | unknown | unknown |" in text
    assert "6 faults in 2 runs: operator killed 4, etcd killed 2" in text
    assert "Seed 2 failed: not trimmed" in text
    assert len(json.loads(records.FILE.read_text().splitlines()[0])) == len(record) + len(counts)
