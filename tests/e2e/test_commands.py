"""
The commands for clusters, on a real one, as an administrator and without an operator.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.conftest import MakeCrd
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import Crd, schema, version
from tests.e2e.operating import espalier
from tests.e2e.waiting import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("installed")]

OLD = {"size": {"type": "integer"}, "gone": {"type": "string"}}
LEASE_LOST = "the lease of this CRD could not be renewed in time"
NEW = {"size": {"type": "integer", "minimum": 2}, "mode": {"type": "string", "default": "slow"}}


def item(output: str) -> dict[str, Any]:
    """
    Return the only item of ``-o json``.
    """
    (only,) = json.loads(output)["items"]
    return dict(only)


def stuck(crd: Crd) -> None:
    """
    Store objects at v1alpha1, and make v1 the storage version.
    """
    crd.create([version("v1alpha1", schema(OLD)), version("v1", schema(OLD))], storage="v1alpha1")
    crd.add("v1alpha1", *(crd.object("v1alpha1", name, spec={"size": 1}) for name in "ab"))
    crd.set_versions([version("v1alpha1", schema(OLD)), version("v1", schema(OLD))], storage="v1")


def test_a_definition_is_planned_surveyed_migrated_and_cleaned_up(
    crd: MakeCrd, control_plane: ControlPlane, tmp_path: Path
) -> None:
    buckets = crd("buckets")
    stuck(buckets)
    manifest = buckets.read()
    del manifest["status"]
    manifest["spec"]["versions"][1]["schema"]["openAPIV3Schema"] = schema(NEW)
    (tmp_path / "new.yaml").write_text(yaml.safe_dump(manifest))
    (tmp_path / "bucket.yaml").write_text(
        yaml.safe_dump(buckets.object("v1", "c", spec={"size": "x"}))
    )

    planned = item(
        espalier(control_plane, "plan", "-f", str(tmp_path / "new.yaml"), "-o", "json", code=1)
    )
    surveyed = item(espalier(control_plane, "survey", buckets.name, "-o", "json"))
    checked = item(espalier(control_plane, "check", "--cluster", buckets.name, "-o", "json"))
    validated = espalier(
        control_plane, "validate", "--cluster", str(tmp_path / "bucket.yaml"), code=1
    )
    espalier(control_plane, "migrate", buckets.name, "--dry-run")
    before = buckets.stored()
    migrated = item(
        espalier(
            control_plane, "migrate", buckets.name, "--yes", "--settle-seconds", "1", "-o", "json"
        )
    )
    shown = item(espalier(control_plane, "status", buckets.name, "-o", "json"))

    assert planned["violations"]["objects"] == 2
    assert [one["path"] for one in planned["filled"]["paths"]] == ["spec.mode"]
    assert surveyed["objects"] == 2
    assert checked["verdict"] == {"act": "update", "accepted": True, "reasons": 0}
    assert 'spec.size in body must be of type integer: "string"' in validated
    assert {one["apiVersion"].rpartition("/")[2] for one in before.values()} == {"v1alpha1"}
    assert migrated["proved"] is True
    stored = buckets.stored()
    assert {one["apiVersion"].rpartition("/")[2] for one in stored.values()} == {"v1"}
    assert buckets.stored_versions() == shown["storedVersions"] == ["v1"]
    assert "espalier.dev/mode" not in buckets.read()["metadata"].get("labels", {})


@pytest.mark.timeout(300)
def test_a_migrate_goes_on_after_another_one_that_was_killed(
    crd: MakeCrd, control_plane: ControlPlane
) -> None:
    count = 2000
    kegs = crd("kegs")
    versions = [version(name, schema({"size": {"type": "integer"}})) for name in ("v1alpha1", "v1")]
    kegs.create(versions, storage="v1alpha1")
    kegs.add(
        "v1alpha1",
        *(kegs.object("v1alpha1", f"k{n:04}", spec={"size": n}) for n in range(count)),
    )
    kegs.set_versions(versions, storage="v1")
    options = ("migrate", kegs.name, "--yes", "--settle-seconds", "1")
    killed = control_plane.start_child(
        "migrate",
        [sys.executable, "-m", "espalier", *options],
        environment={**os.environ, "KUBECONFIG": str(control_plane.kubeconfig)},
    )

    def under_way() -> None:
        assert kegs.stored_at().get("v1", 0) > count // 10, killed.tail()

    eventually(under_way)
    killed.kill()
    assert kegs.stored_at()["v1"] < count

    # Its lease still exists, so no process can know yet that it is dead.
    def migrates() -> dict[str, Any]:
        try:
            return item(espalier(control_plane, *options, "-o", "json"))
        except AssertionError as error:
            # Only a process that gets no time to renew its lease may be run again.
            if LEASE_LOST not in str(error):
                pytest.fail(str(error))
            raise

    migrated = eventually(migrates)

    assert migrated["proved"] is True
    assert kegs.stored_at() == {"v1": count}
    assert kegs.stored_versions() == ["v1"]
    assert {name: obj["spec"]["size"] for name, obj in kegs.stored().items()} == {
        f"k{n:04}": n for n in range(count)
    }


def test_an_archive_is_listed_shown_exported_and_expires(
    crd: MakeCrd, control_plane: ControlPlane, tmp_path: Path
) -> None:
    ruins = crd("ruins")
    ruins.put_legacy([version("v1", schema({"size": {"type": "integer"}}))], storage="v1")
    ruins.add("v1", ruins.object("v1", "a", spec={"size": 1, "junk": "x"}))

    espalier(control_plane, "migrate", ruins.name, "--yes", "--settle-seconds", "1")
    (field,) = json.loads(espalier(control_plane, "archive", "show", ruins.name, "-o", "json"))[
        "items"
    ]
    page = item(espalier(control_plane, "archive", "list", ruins.name, "-o", "json"))
    espalier(control_plane, "archive", "export", str(tmp_path), "--crd", ruins.name)
    offline = espalier(
        control_plane, "archive", "show", ruins.name, "--archive-folder", str(tmp_path)
    )
    gone = ["archive", "expire", "--older-than", "0s", "--crd", ruins.name, "--yes", "-o", "json"]
    espalier(control_plane, *gone)

    assert (field["object"], field["path"]) == ("default/a", "/spec/junk")
    assert (page["crd"], page["objects"], page["whole"]) == (ruins.name, 1, True)
    assert "/spec/junk" in offline
    assert json.loads(ruins.raw()["a"])["spec"] == {"size": 1}


def test_cleanup_leaves_nothing_of_ours(crd: MakeCrd, control_plane: ControlPlane) -> None:
    tidy = crd("tidies")
    tidy.create([version("v1", schema(OLD))], storage="v1")
    tidy.label(mode="enforce")
    noted = tidy.object("v1", "a", spec={"size": 1})
    noted["metadata"]["annotations"] = {"espalier.dev/schema-violations": "{}", "note": "b"}
    tidy.add("v1", noted)

    espalier(control_plane, "cleanup", tidy.name, "--dry-run")
    espalier(control_plane, "cleanup", tidy.name, code=4)
    espalier(control_plane, "cleanup", tidy.name, "--yes")

    assert "espalier.dev/mode" not in tidy.read()["metadata"].get("labels", {})
    assert tidy.stored()["a"]["metadata"]["annotations"] == {"note": "b"}
