"""
The page on a restored etcd, with etcd's data put back from a copy: its commands, in their order.
"""

import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.reading import ROOT
from tests.docs.test_command_blocks import commands
from tests.e2e.controlplane.assets import find_assets
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import Crd, schema, version
from tests.e2e.installing import apply
from tests.e2e.operating import espalier
from tests.e2e.writes import NAMESPACE

pytestmark = pytest.mark.e2e

PAGE = ROOT / "docs" / "how-to" / "after-a-restored-etcd.md"
DEPLOYMENT = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/espalier"
OLD = version("v1alpha1", schema({"size": {"type": "integer"}}))
NEW = version("v1", schema({"size": {"type": "integer"}, "note": {"type": "string"}}))
OBJECTS = 20


@pytest.fixture
def plane() -> Iterator[ControlPlane]:
    plane = ControlPlane(find_assets(), is_durable=True)
    plane.start()
    yield plane
    plane.stop()


def run(plane: ControlPlane, command: str) -> str:
    """
    Run a command of the page as an administrator, and return all that it prints.
    """
    programs = shlex.quote(str(Path(sys.executable).parent))
    return plane.shell(f"PATH={programs}:$PATH; export PATH; ({command}) 2>&1 || true")


def copied(plane: ControlPlane) -> Path:
    """
    Copy etcd's data, as a snapshot does.
    """
    plane.end_etcd()
    copy = plane.folder / "copy"
    shutil.copytree(plane.etcd_data, copy)
    plane.start_etcd_again()
    return copy


def restore(plane: ControlPlane, copy: Path) -> None:
    """
    Put etcd's data back, and restart the API server.
    """
    plane.end_etcd()
    shutil.rmtree(plane.etcd_data)
    shutil.copytree(copy, plane.etcd_data)
    plane.start_etcd_again()
    plane.restart_api_server()


def widgets_of(plane: ControlPlane) -> Crd:
    """
    Create a definition whose storage version is new, and objects that are stored at the old one.
    """
    widgets = Crd(plane, "widgets", "example.com")
    widgets.create([OLD, NEW], storage="v1alpha1")
    names = [f"w{number:02}" for number in range(OBJECTS)]
    widgets.add("v1alpha1", *(widgets.object("v1alpha1", n, spec={"size": 1}) for n in names))
    widgets.set_versions([OLD, NEW], storage="v1")
    return widgets


def test_what_was_proved_after_the_snapshot_is_proved_again(plane: ControlPlane) -> None:
    apply(plane)
    widgets, copy = widgets_of(plane), copied(plane)
    espalier(plane, "migrate", widgets.name, "--yes", "--settle-seconds=0")
    widgets.set_versions([NEW], storage="v1")
    assert widgets.stored_versions() == ["v1"]

    to_zero, to_two, status, can_drop, again = commands(PAGE)
    run(plane, to_zero)
    assert plane.api.get(DEPLOYMENT)["spec"]["replicas"] == 0
    restore(plane, copy)
    run(plane, to_two)
    assert plane.api.get(DEPLOYMENT)["spec"]["replicas"] == 2
    assert widgets.stored_at() == {"v1alpha1": OBJECTS}

    assert "v1alpha1,v1" in run(plane, status)
    assert "no, v1alpha1 cannot be dropped" in run(plane, can_drop)
    assert "1 definition, 1 proved to be current" in run(plane, f"{again} --yes --settle-seconds=0")

    assert widgets.stored_versions() == ["v1"]
    assert widgets.stored_at() == {"v1": OBJECTS}
    assert {obj["spec"]["size"] for obj in widgets.stored().values()} == {1}
    widgets.set_versions([NEW], storage="v1")
