"""
What surveys ask of the API server, counted in its audit log.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import MakeCrd, StartOperator
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import VALID, Crd, schema, version
from tests.e2e.operating import is_ours
from tests.e2e.waiting import eventually

pytestmark = pytest.mark.e2e

DEFINITIONS, SURVEYS = 20, 3
SIZE = {"size": {"type": "integer"}}
VERSIONS = [version("v1", schema(SIZE))]


def requests(plane: ControlPlane, mark: dict[Path, int]) -> Counter[str]:
    """
    Count the operator's requests by verb and resource.
    """
    return Counter(f"{r.verb} {r.resource}" for r in plane.audit.requests(mark) if is_ours(r))


def lists(crd: Crd, mark: dict[Path, int]) -> int:
    return requests(crd.plane, mark)[f"list {crd.plural}"]


def test_twenty_definitions_are_surveyed_three_times_with_few_questions_about_rights(
    crd: MakeCrd, control_plane: ControlPlane, start_operator: StartOperator
) -> None:
    crds = [crd(f"polls{number:02}s") for number in range(DEFINITIONS)]
    for each in crds:
        each.create(VERSIONS, storage="v1")
        each.add("v1", each.object("v1", "a", spec={"size": 1}))
        each.label(mode="enforce")
    start_operator(resurvey_seconds=1, survey_percent=100, report=False)
    for each in crds:
        each.wait_until_current(within_seconds=90)
        each.wait_for(VALID, "True", "Valid", within_seconds=90)

    def surveyed(times: int) -> Callable[[], None]:
        mark = control_plane.audit.mark()

        def look() -> None:
            assert min(lists(each, mark) for each in crds) >= times

        return look

    # Whatever the first surveys have found is reported by the end of the second ones.
    eventually(surveyed(2), within_seconds=90)
    mark = control_plane.audit.mark()
    eventually(surveyed(SURVEYS), within_seconds=90)
    found = requests(control_plane, mark)
    surveys = sum(found[f"list {each.plural}"] for each in crds)
    assert surveys >= DEFINITIONS * SURVEYS
    # Ten for each survey before.
    assert found["create selfsubjectaccessreviews"] == 0
    assert found["create selfsubjectrulesreviews"] <= surveys
    # What changes nothing is not written again.
    written = {name for name in found if name.split()[0] in {"create", "update", "patch", "delete"}}
    assert written <= {"create selfsubjectrulesreviews", "patch leases"}
