"""
What is kept of a definition survives its document; what cannot be read is never taken for none.
"""

from dataclasses import replace

import pytest

from espalier.crd import Definition
from espalier.engine.coordination.checkpoint import (
    FORMAT,
    Checkpoint,
    Progress,
    read_checkpoint,
    render_checkpoint,
)
from espalier.engine.policy.consent import ShownLoss
from espalier.engine.policy.record import first_record, record_of_proof
from espalier.engine.ports import ObjectKey
from espalier.engine.ports.state import RecordUnreadableError
from espalier.paths import JSON
from tests.fakes.widgets import widgets

DEFINITION = widgets(generation=3)
PROGRESS = Progress(
    key="k",
    generation=3,
    phase="rewrite",
    token="4",  # noqa: S106 - of a list
    seen=5,
    failed=(ObjectKey("default", "a"),),
    failed_total=1,
    proved_generation=2,
    proved_objects=9,
)
CHECKPOINT = Checkpoint(
    whole=PROGRESS,
    restricted=replace(PROGRESS, key="some"),
    record=first_record(DEFINITION),
    before="0" * 32,
    shown=ShownLoss(frozenset({"v1.spec.color"})),
    accepted=ShownLoss(frozenset({"v1.spec.size"})),
    is_proved=True,
    storages=frozenset({"v1"}),
)
# As the version before wrote it.
OF_ONE_VERSION: dict[str, JSON] = {
    "format": 1,
    "key": "k",
    "generation": 3,
    "phase": "",
    "token": "",
    "seen": 0,
    "failed": [],
    "failedTotal": 0,
    "provedGeneration": 3,
    "provedObjects": 9,
    "record": {"specified": [".spec", ".spec.gone"], "dropped": [".spec.odd"]},
    "restricted": None,
}


def read(document: dict[str, JSON], definition: Definition = DEFINITION) -> Checkpoint:
    found = read_checkpoint(document, definition)
    assert found is not None
    return found


def test_a_checkpoint_reads_as_it_was_written() -> None:
    assert read(render_checkpoint(CHECKPOINT)) == CHECKPOINT
    assert read_checkpoint(None, DEFINITION) is None


@pytest.mark.parametrize(
    "change",
    [
        {"format": FORMAT + 1},
        {"format": None},
        {"key": 1},
        {"seen": True},
        {"token": None},
        {"failed": [["default"]]},
        {"failed": None},
        {"restricted": []},
        {"record": None},
        {"record": {"generation": 3, "isComplete": True, "specified": {"v1": [1]}}},
        {"shown": None},
        {"accepted": [1]},
        {"before": None},
    ],
)
def test_a_checkpoint_with_one_odd_part_stops(change: dict[str, JSON]) -> None:
    with pytest.raises(RecordUnreadableError):
        read_checkpoint({**render_checkpoint(CHECKPOINT), **change}, DEFINITION)


def test_a_newer_format_is_named() -> None:
    with pytest.raises(RecordUnreadableError, match="of the newer format 7"):
        read_checkpoint({**render_checkpoint(CHECKPOINT), "format": 7}, DEFINITION)


def test_the_format_before_is_read() -> None:
    found = read(OF_ONE_VERSION)

    assert found.whole.proved_generation == 3
    assert found.record == record_of_proof(DEFINITION)


def test_of_a_run_that_was_not_proved_only_the_storage_version_is_known() -> None:
    found = read({**OF_ONE_VERSION, "provedGeneration": 0})

    assert not found.record.is_complete
    assert ".spec.gone" in found.record.specified["v1"]
    assert ".spec.gone" not in found.record.specified["v1alpha1"]


@pytest.mark.parametrize("record", [[], {}, {"specified": [1], "dropped": []}])
def test_an_odd_record_of_the_format_before_stops(record: JSON) -> None:
    with pytest.raises(RecordUnreadableError):
        read_checkpoint({**OF_ONE_VERSION, "provedGeneration": 0, "record": record}, DEFINITION)
