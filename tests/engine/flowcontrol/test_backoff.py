"""
Pauses between runs.
"""

import pytest

from espalier.engine.flowcontrol import backoff as retrying


@pytest.mark.parametrize(
    ("attempt", "seconds"), [(1, 5.0), (2, 10.0), (5, 80.0), (9, 900.0), (10_000, 900.0)]
)
def test_pauses_between_runs_grow(attempt: int, seconds: float) -> None:
    assert retrying.run_pause_seconds(attempt) == seconds
