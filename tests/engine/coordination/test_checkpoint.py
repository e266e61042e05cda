"""
A checkpoint reads as it was written, and one of another form counts as none.
"""

import pytest

from espalier.engine.coordination.checkpoint import Progress, read_progress, render_progress
from espalier.engine.policy.loss import Record
from espalier.paths import JSON

PROGRESS = Progress(
    key="k",
    generation=3,
    phase="rewrite",
    token="4",  # noqa: S106 - of a list
    seen=5,
    proved_generation=2,
    proved_objects=9,
    record=Record(specified=frozenset({".a", ".b"}), dropped=frozenset({".c"})),
)


def test_a_checkpoint_reads_as_it_was_written() -> None:
    assert read_progress(render_progress(PROGRESS)) == PROGRESS


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"format": 2}, None),
        ({"key": 1}, None),
        ({"seen": True}, None),
        ({"token": None}, None),
    ],
)
def test_a_checkpoint_of_another_form_counts_as_none(
    change: dict[str, JSON], expected: None
) -> None:
    assert read_progress({**render_progress(PROGRESS), **change}) is expected


@pytest.mark.parametrize("record", [None, [], {}, {"specified": [1], "dropped": []}])
def test_a_record_of_another_form_counts_as_none(record: JSON) -> None:
    progress = read_progress({**render_progress(PROGRESS), "record": record})
    assert progress is not None
    assert progress.record is None
