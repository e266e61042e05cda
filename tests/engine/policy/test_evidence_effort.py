"""
The effort of a verdict grows as the record and the entries of an object do, and not faster.
"""

from collections.abc import Callable

import pytest

from espalier.engine.policy.record import SchemaRecord
from tests.effort import calls_of
from tests.engine.policy.test_evidence import definition, entry, judge, metadata, version

Name = Callable[[int], str]


@pytest.mark.parametrize("is_complete", [True, False])
@pytest.mark.parametrize(
    ("recorded", "owned"),
    [
        pytest.param(lambda n: f".spec.x{n}.y", lambda n: f"z{n}", id="other names"),
        pytest.param(lambda n: f".spec.x{n}.*.y", lambda n: f"x{n}", id="maps of names"),
        pytest.param(lambda n: f".spec.*.x{n}", lambda n: f"k{n}", id="names of maps"),
        pytest.param(lambda n: f".spec.x{n}.**", lambda n: f"x{n}", id="all that lies below"),
    ],
)
def test_twice_as_many_paths_are_twice_the_work(
    recorded: Name, owned: Name, *, is_complete: bool
) -> None:
    def effort(most: int) -> int:
        paths = frozenset(recorded(n) for n in range(most))
        record = SchemaRecord(generation=2, is_complete=is_complete, specified={"v1": paths})
        obj = metadata(entry(*(owned(n) for n in range(most))))
        return calls_of(lambda: judge(definition(version("v1", "a")), record, obj))

    assert effort(2000) < 5 * effort(500)
