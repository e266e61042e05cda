"""
The ConfigMap that pauses the whole operator, in the middle of a run.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import MakeCrd, StartOperator
from tests.e2e.controlplane.auditing import Request
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import Crd
from tests.e2e.operating import is_ours
from tests.e2e.test_pausing import COUNT, PACED, flipped, prompt, until_under_way
from tests.e2e.waiting import eventually, throughout
from tests.e2e.writes import NAMESPACE

pytestmark = pytest.mark.e2e

SWITCH = "espalier-pause"


def writes(plane: ControlPlane, mark: dict[Path, int]) -> list[Request]:
    """
    Return what the operator has written anywhere but to its Leases.
    """
    return [
        request
        for request in plane.audit.requests(mark)
        if is_ours(request)
        and request.is_mutating
        and request.resource != "leases"
        and request.group != "authorization.k8s.io"
    ]


def check_still(crd: Crd, stored_at: dict[str, int]) -> None:
    assert crd.stored_at() == stored_at


@pytest.fixture
def unpaused(control_plane: ControlPlane) -> Iterator[None]:
    """
    Other tests share the control plane: a test that fails leaves no switch behind.
    """
    yield
    control_plane.kubectl("delete", "configmap", SWITCH, "-n", NAMESPACE, "--ignore-not-found")


@pytest.mark.usefixtures("unpaused")
def test_nothing_is_written_anywhere_while_the_config_map_exists(
    crd: MakeCrd, control_plane: ControlPlane, start_operator: StartOperator
) -> None:
    ducts = crd("ducts")
    flipped(ducts)
    operator = start_operator(**PACED)
    mark = control_plane.audit.mark()
    ducts.label(mode="enforce")
    until_under_way(ducts, mark)

    control_plane.kubectl("create", "configmap", SWITCH, "-n", NAMESPACE)

    def leases_are_released() -> None:
        leases = control_plane.api.get(
            f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
        )
        holders = [one["spec"].get("holderIdentity") or "" for one in leases["items"]]
        # Operators of other tests that were killed have released nothing.
        assert [one for one in holders if f"_{operator.child.pid}_" in one] == []

    eventually(leases_are_released)
    paused_at = next(
        request.answered
        for request in control_plane.audit.requests(mark)
        if (request.user, request.verb, request.resource) == ("admin", "create", "configmaps")
    )
    stored_at = ducts.stored_at()
    assert 0 < stored_at["v1"] < COUNT
    # Another change of the definition wakes nothing up.
    ducts.label(mode="observe")
    throughout(lambda: check_still(ducts, stored_at), seconds=4)
    late = [r.path for r in writes(control_plane, mark) if r.received > paused_at + prompt()]
    assert late == []
    assert ducts.stored_versions() == ["v1alpha1", "v1"]
    ducts.label(mode="enforce")

    control_plane.kubectl("delete", "configmap", SWITCH, "-n", NAMESPACE)
    ducts.wait_until_current(within_seconds=60)
    assert ducts.stored_at() == {"v1": COUNT}
    assert operator.child.exit_code is None
