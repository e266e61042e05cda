"""
What conditions say, and that it has a bound.
"""

import pytest

from espalier.engine.ports.progress import PassProgress
from espalier.engine.status import conditions, text
from tests.fakes.widgets import widgets


def test_messages_are_bounded() -> None:
    (said,) = conditions.not_current(conditions.Reason.FAILED, "x" * 100_000)
    assert len(said.message) == text.MAX_MESSAGE_LENGTH
    assert text.enumerated(map(str, range(8))) == "0, 1, 2, 3, 4 and 3 more"


@pytest.mark.parametrize(
    ("objects", "begin"),
    [(None, "all stored"), (0, "no objects"), (1, "the one"), (7, "all 7")],
)
def test_what_conditions_state_of_objects(objects: int | None, begin: str) -> None:
    (said,) = conditions.current(widgets(), objects=objects)
    assert said.message.startswith(begin)


@pytest.mark.parametrize(("done", "total"), [(0, 1), (1, None), (1, 1), (2, 7), (7, None)])
def test_what_is_written_of_progress_can_be_read_back(done: int, total: int | None) -> None:
    (written,) = conditions.rewriting(widgets(), "rewriting (pass 2)", done=done, total=total)

    assert conditions.read_progress(written) == PassProgress(
        phase="rewriting", number=2, done=done, total=total
    )
