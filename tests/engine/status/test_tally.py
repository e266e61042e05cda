"""
What is kept of failures has a bound.
"""

from espalier.engine.ports import ObjectKey
from espalier.engine.status.tally import MAX_CAUSES, OTHER_CAUSES, Tally, describe_failures


def test_failures_are_bounded() -> None:
    tally = Tally()
    for number in range(200):
        tally.fail(ObjectKey("ns", f"o{number}"), f"cause {number % 40}")
    assert tally.failed == 200
    assert len(tally.failures) == MAX_CAUSES + 1
    assert OTHER_CAUSES in tally.failures
    assert "and 95 more" in describe_failures(tally.failures)
