"""
What a failure is called, and how failures are grouped.
"""

import pytest

from espalier.engine.ports import ObjectKey
from espalier.engine.status.causes import cause_of, kind_of
from espalier.engine.status.tally import Tally, describe_failures
from espalier.errors import (
    ClusterError,
    TransientError,
)
from tests.fakes.faults import rejected
from tests.fakes.widgets import WIDGETS


@pytest.mark.parametrize(
    ("error", "cause", "kind"),
    [
        (
            rejected("", "a.b[k]: Invalid value: no", "a.b[l]: Invalid value: not at all"),
            "422 Invalid, a.b[k]: Invalid value: no; a.b[l]: Invalid value: not at all",
            "422 Invalid, a.b[*]: Invalid value",
        ),
        (
            rejected('admission webhook "w.example.com" denied the request: not so', status=400),
            '400 Invalid, denied by admission webhook "w.example.com"',
            '400 Invalid, denied by admission webhook "w.example.com"',
        ),
        (rejected("not good"), "422 Invalid: not good", "422 Invalid"),
        (
            TransientError(verb="get", resource=WIDGETS),
            "TransientError",
            "TransientError",
        ),
        (TransientError(verb="get", resource=WIDGETS, reason="timeout"), "timeout", "timeout"),
    ],
)
def test_causes_have_messages_and_are_grouped_without_them(
    error: ClusterError, cause: str, kind: str
) -> None:
    assert (cause_of(error), kind_of(error)) == (cause, kind)


def test_of_a_group_the_first_message_is_reported() -> None:
    tally = Tally()
    for number in range(3):
        tally.fail(ObjectKey("ns", f"o{number}"), f"denied: size is {number}", kind="denied")
    tally.fail(ObjectKey("ns", "o3"), "409 Conflict", kind="409 Conflict")
    assert describe_failures(tally.failures) == (
        "3 objects: denied: size is 0, and the like (ns/o0, ns/o1, ns/o2);"
        " 1 object: 409 Conflict (ns/o3)"
    )
    assert tally.failed_causes[ObjectKey("ns", "o2")] == "denied: size is 2"
