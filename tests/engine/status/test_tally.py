"""
What is kept of failures has a bound.
"""

import itertools

from espalier.engine.ports import ObjectKey
from espalier.engine.status.tally import MAX_CAUSES, OTHER_CAUSES, Tally, describe_failures, total


def test_failures_are_bounded() -> None:
    tally = Tally()
    for number in range(200):
        tally.fail(ObjectKey("ns", f"o{number}"), f"cause {number % 40}")
    assert tally.failed == 200
    assert len(tally.failures) == MAX_CAUSES + 1
    assert OTHER_CAUSES in tally.failures
    assert "and 95 more" in describe_failures(tally.failures)


def test_messages_do_not_depend_on_the_order_of_answers() -> None:
    failed = [("b", "no such key: y", "rule"), ("a", "no such key: x", "rule"), ("c", "409", "409")]
    messages = set()
    for order in itertools.permutations(failed):
        tally = Tally(seen=3)
        for name, cause, kind in order:
            tally.fail(ObjectKey("ns", name), cause, kind=kind)
        totals = total([tally])
        assert totals is not None
        messages.add((describe_failures(tally.failures), totals.failed, *tally.failed_keys))
    assert len(messages) == 1
