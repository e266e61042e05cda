"""
Impersonation, selectors, names and watches against a real server.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import MakeCrd
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import schema, version
from tests.e2e.operating import espalier, run_command
from tests.e2e.waiting import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("installed")]

SIZE = {"size": {"type": "integer"}}


def names_in(output: str) -> list[str]:
    return [str(one["name"]) for one in json.loads(output)["items"]]


def test_the_server_decides_as_whom_a_command_acts(
    crd: MakeCrd, control_plane: ControlPlane
) -> None:
    oars = crd("oars")
    oars.create([version("v1", schema(SIZE))], storage="v1")

    alone = run_command(control_plane, "status", "--as", "jane")
    admin = espalier(
        control_plane, "status", oars.name, "--as=jane", "--as-group=system:masters", "-o=json"
    )

    assert 'User "jane" cannot list resource "customresourcedefinitions"' in alone.stderr
    assert alone.returncode == 3
    assert names_in(admin) == [oars.name]


def test_definitions_are_named_and_selected_as_for_kubectl(
    crd: MakeCrd, control_plane: ControlPlane
) -> None:
    masts = crd("masts")
    masts.create([version("v1", schema(SIZE))], storage="v1")
    names = {"shortNames": ["ms"], "singular": "mast"}
    control_plane.api.merge(
        masts.path, {"spec": {"names": names}, "metadata": {"labels": {"sea": "north"}}}
    )

    for name in ("masts", "mast", "ms", "crd/ms", "masts.v1.e2e.example.com"):
        assert names_in(espalier(control_plane, "status", name, "-o", "json")) == [masts.name]
    selected = espalier(control_plane, "status", "-l", "sea in (north)", "-o", "json")
    broken = run_command(control_plane, "status", "-l", "a b")

    assert names_in(selected) == [masts.name]
    assert "unable to parse requirement" in broken.stderr
    assert broken.returncode == 3


def test_a_watch_shows_what_changes(
    crd: MakeCrd, control_plane: ControlPlane, tmp_path: Path
) -> None:
    keels = crd("keels")
    keels.create([version("v1", schema(SIZE))], storage="v1")
    shown = tmp_path / "shown"
    arguments = ["status", keels.name, "--watch", "-o", "json"]
    with (
        shown.open("wb") as output,
        subprocess.Popen(
            [sys.executable, "-m", "espalier", *arguments],
            env={"KUBECONFIG": str(control_plane.kubeconfig), "PATH": ""},
            stdout=output,
        ) as watching,
    ):

        def modes() -> list[str]:
            return [json.loads(line)["mode"] for line in shown.read_text().splitlines()]

        def first() -> None:
            assert modes() == [""]

        def second() -> None:
            assert modes() == ["", "observe"]

        try:
            eventually(first)
            control_plane.api.merge(
                keels.path, {"metadata": {"labels": {"espalier.dev/mode": "observe"}}}
            )
            eventually(second)
        finally:
            watching.terminate()
