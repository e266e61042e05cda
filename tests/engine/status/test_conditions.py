"""
What conditions say, and that it has a bound.
"""

import pytest

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
