"""
What is printed as a remedy cures: each is done as it is printed, and then the work succeeds.
"""

import json
import random
from pathlib import Path

import pytest

from tests.e2e.conftest import MakeCrd
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import Crd, Document, schema, version
from tests.e2e.operating import run_command
from tests.e2e.waiting import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("installed")]

LEVEL = {"level": {"type": "string"}}
OLD, NEW = version("v1", schema(LEVEL)), version("v2", schema(LEVEL))
SMALL = ("--archive-max-bytes", "262144")
QUICK = ("--yes", "--settle-seconds", "0", "-o", "json")


def stored_at_v1(crd: Crd) -> None:
    """
    Create a definition with one object that is stored at v1.
    """
    crd.create([OLD, NEW], storage="v1")
    crd.add("v1", crd.object("v1", "one", spec={"level": "debug"}))


def hints(plane: ControlPlane, crd: Crd) -> set[tuple[str, str]]:
    """
    Ask whether v1 may be dropped, which it may not; return rules and hints.
    """
    result = run_command(plane, "can-drop", "v1", crd.name, "-o", "json")
    assert result.returncode in (1, 4), result.stderr
    return {(one["rule"], one["hint"]) for one in json.loads(result.stdout)["findings"]}


def migrated(plane: ControlPlane, crd: Crd, *arguments: str) -> None:
    """
    Migrate, until the server stores at the storage version and all is proved.
    """

    def proved() -> None:
        result = run_command(plane, "migrate", crd.name, *QUICK, *arguments)
        (item,) = json.loads(result.stdout)["items"]
        assert item["proved"], item

    eventually(proved)


def test_a_namespace_for_the_operators_data_is_created(
    crd: MakeCrd, control_plane: ControlPlane
) -> None:
    yards = crd("yards")
    stored_at_v1(yards)
    elsewhere = ("--operator-namespace", "not-there-yet")

    failed = run_command(control_plane, "migrate", yards.name, *QUICK, *elsewhere)
    (item,) = json.loads(failed.stdout)["items"]
    assert (
        "does not exist: create it, or name another one by --operator-namespace" in item["message"]
    )

    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "not-there-yet"}}
    control_plane.api.post("/api/v1/namespaces", body)
    migrated(control_plane, yards, *elsewhere)


def test_another_version_is_made_the_storage_version(
    crd: MakeCrd, control_plane: ControlPlane
) -> None:
    sails = crd("sails")
    stored_at_v1(sails)
    remedy = "make another version the storage version, and migrate"
    assert ("drop/refused", remedy) in hints(control_plane, sails)

    sails.set_versions([OLD, NEW], storage="v2")
    migrated(control_plane, sails)
    sails.set_versions([NEW], storage="v2")

    assert sails.stored_at() == {"v2": 1}


def test_a_version_that_is_stored_and_gone_is_put_back_unserved(
    crd: MakeCrd, control_plane: ControlPlane
) -> None:
    ropes = crd("ropes")
    stored_at_v1(ropes)
    ropes.set_versions([OLD, NEW], storage="v2")
    ropes.wait_until_served("v2")
    manifest: Document = json.loads(control_plane.raw_get(ropes.raw_key) or b"")
    manifest["spec"]["versions"] = [
        one for one in manifest["spec"]["versions"] if one["name"] != "v1"
    ]
    control_plane.raw_put(ropes.raw_key, json.dumps(manifest).encode())

    def printed() -> None:
        remedy = f"put v1 back with served: false, and run: espalier migrate {ropes.name}"
        assert ("drop/stored", remedy) in hints(control_plane, ropes)

    eventually(printed)
    ropes.set_versions([OLD | {"served": False}, NEW], storage="v2")
    migrated(control_plane, ropes)
    ropes.set_versions([NEW], storage="v2")

    assert ropes.stored_at() == {"v2": 1}
    assert ropes.stored_versions() == ["v2"]


def filled_up(plane: ControlPlane, crd: Crd, prefix: str) -> None:
    """
    Add objects with unknown data and migrate, until the archive has no room for it.
    """
    for number in range(20):
        junk = random.Random(f"{prefix}{number}").randbytes(12_000).hex()  # noqa: S311  # no secret
        crd.add("v1", crd.object("v1", f"{prefix}{number}", spec={"level": "info", "junk": junk}))
        result = run_command(plane, "migrate", crd.name, *QUICK, *SMALL)
        (item,) = json.loads(result.stdout)["items"]
        if not item["proved"]:
            # Where one namespace has had its share, the objects of others are pruned.
            assert item["reason"] in ("ArchiveFull", "Failed"), item
            assert "(espalier archive export)" in item["message"], item
            return
    pytest.fail("the archive took everything")


def test_a_full_archive_is_saved_and_emptied_or_gets_more_room(
    crd: MakeCrd, control_plane: ControlPlane, tmp_path: Path
) -> None:
    vaults = crd("vaults")
    vaults.put_legacy([OLD], storage="v1")
    filled_up(control_plane, vaults, "a")

    folder = str(tmp_path)
    assert run_command(control_plane, "archive", "export", folder).returncode == 0
    emptied = ("--older-than", "0s", "--crd", vaults.name, "--yes")
    assert run_command(control_plane, "archive", "expire", *emptied).returncode == 0
    migrated(control_plane, vaults, *SMALL)
    filled_up(control_plane, vaults, "b")
    migrated(control_plane, vaults)

    assert {tuple(one["spec"]) for one in vaults.stored().values()} == {("level",)}
    shown = run_command(
        control_plane, "archive", "show", vaults.name, "--archive-folder", folder, "-o", "json"
    )
    assert ("default/a0", "/spec/junk") in {
        (one["object"], one["path"]) for one in json.loads(shown.stdout)["items"]
    }
