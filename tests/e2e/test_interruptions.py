"""
A run that is interrupted by a person or by a crash.
"""

from collections.abc import Iterator

import pytest

from espalier.names import RECORD
from tests.e2e.conftest import MakeCrd, StartOperator
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import CURRENT, VALID, Crd, schema, version
from tests.e2e.operating import Operator
from tests.e2e.waiting import eventually, throughout

# Two writes at a time: a busy machine needs a minute for a pass.
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

COUNT = 2000
SIZE = {"size": {"type": "integer"}}
VERSIONS = [version("v1alpha1", schema(SIZE)), version("v1", schema(SIZE))]

# Few objects at a time, so that the run can be interrupted.
SLOW = {"page_size": 100, "max_in_flight": 2}


def specs_of(crd: Crd) -> dict[str, object]:
    return {name: obj["spec"] for name, obj in crd.stored().items()}


def flipped(crd: Crd) -> dict[str, object]:
    """
    Create a CRD with many objects at the previous storage version.
    """
    crd.create(VERSIONS, storage="v1alpha1")
    crd.add(
        "v1alpha1",
        *(crd.object("v1alpha1", f"o{n:04}", spec={"size": n}) for n in range(COUNT)),
    )
    crd.set_versions(VERSIONS, storage="v1")
    return {f"o{n:04}": {"size": n} for n in range(COUNT)}


def wait_for_the_middle(crd: Crd) -> None:
    def some_are_rewritten() -> None:
        assert crd.stored_at().get("v1", 0) > COUNT // 4

    eventually(some_are_rewritten)


def test_taking_the_label_off_stops_a_run_and_putting_it_on_finishes_it(
    crd: MakeCrd, start_operator: StartOperator
) -> None:
    bolts = crd("bolts")
    specs = flipped(bolts)
    start_operator(**SLOW)
    bolts.label(mode="enforce")
    wait_for_the_middle(bolts)

    bolts.label(mode=None)

    def conditions_are_gone() -> None:
        assert bolts.condition(CURRENT) is None
        assert bolts.condition(VALID) is None

    eventually(conditions_are_gone)
    stopped_at = bolts.stored_at()
    assert 0 < stopped_at["v1"] < COUNT

    def nothing_moves() -> None:
        assert bolts.stored_at() == stopped_at
        assert bolts.condition(CURRENT) is None

    throughout(nothing_moves, seconds=3)
    assert bolts.stored_versions() == ["v1alpha1", "v1"]

    bolts.label(mode="enforce")
    bolts.wait_until_current(within_seconds=150)
    assert bolts.stored_versions() == ["v1"]
    assert bolts.stored_at() == {"v1": COUNT}
    assert specs_of(bolts) == specs


def test_a_run_survives_the_death_of_its_process(
    crd: MakeCrd, start_operator: StartOperator
) -> None:
    nuts = crd("nuts")
    specs = flipped(nuts)
    operator = start_operator(**SLOW)
    nuts.label(mode="enforce")
    wait_for_the_middle(nuts)

    operator.kill()

    assert 0 < nuts.stored_at()["v1"] < COUNT
    operator.restart()
    # The lease of the dead process must expire first.
    nuts.wait_until_current(within_seconds=150)
    assert nuts.stored_versions() == ["v1"]
    assert nuts.stored_at() == {"v1": COUNT}
    assert specs_of(nuts) == specs


KEPT = "kept-elsewhere"


def make_namespace(plane: ControlPlane) -> None:
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": KEPT}}
    plane.api.post("/api/v1/namespaces", body)


def delete_namespace(plane: ControlPlane) -> None:
    """
    Delete the namespace, and do the work of the namespace controller.
    """
    plane.api.delete(f"/api/v1/namespaces/{KEPT}")
    for resource in ("leases", "configmaps", "secrets", "events"):
        plane.etcd.delete_prefix(f"/registry/{resource}/{KEPT}/")
    plane.etcd.delete(f"/registry/namespaces/{KEPT}")

    def gone() -> None:
        assert plane.api.find(f"/api/v1/namespaces/{KEPT}") is None

    eventually(gone)


@pytest.fixture
def far_operator(installed: ControlPlane) -> Iterator[Operator]:
    """
    An operator that keeps its data in another namespace than that of its ServiceAccount.
    """
    make_namespace(installed)
    running = Operator(installed, installed.kubeconfig, namespace=KEPT, **SLOW)
    yield running
    assert running.child.exit_code is None, running.child.tail()
    running.stop()
    delete_namespace(installed)


@pytest.mark.usefixtures("far_operator")
def test_without_the_operators_namespace_a_run_stops_and_goes_on_with_it(
    crd: MakeCrd, control_plane: ControlPlane
) -> None:
    rivets = crd("rivets")
    specs = flipped(rivets)
    rivets.label(mode="enforce")
    wait_for_the_middle(rivets)

    delete_namespace(control_plane)

    def stopped() -> str:
        found = rivets.condition(CURRENT)
        assert found is not None
        assert found["reason"] != "Rewriting", found
        return str(found["message"])

    message = eventually(stopped, within_seconds=20)
    stopped_at = rivets.stored_at()
    assert stopped_at["v1"] < COUNT

    def nothing_moves() -> None:
        assert rivets.stored_at() == stopped_at

    throughout(nothing_moves, seconds=3)
    assert rivets.stored_versions() == ["v1alpha1", "v1"]
    assert KEPT in message

    # The record went with the namespace: nothing is written until somebody gives it up.
    make_namespace(control_plane)
    rivets.wait_for(CURRENT, "False", "RecordUnreadable")
    throughout(nothing_moves, seconds=3)
    rivets.drop_condition(RECORD)
    rivets.wait_until_current(within_seconds=150)
    assert rivets.stored_versions() == ["v1"]
    assert rivets.stored_at() == {"v1": COUNT}
    assert specs_of(rivets) == specs
