"""
CRDs from v1beta1 whose objects the server does not prune: Espalier prunes and archives.
"""

import base64
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import MakeCrd
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import CURRENT, NON_STRUCTURAL, Crd, schema, version
from tests.e2e.operating import is_ours
from tests.e2e.waiting import eventually, throughout
from tests.e2e.writes import NAMESPACE
from tests.patience import PACE

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("operator")]

SIZE = {"size": {"type": "integer"}}
RESTORE_SECONDS = 60.0
PRESERVING = "spec.preserveUnknownFields: Invalid value: true: must be false"


def archived(plane: ControlPlane) -> str:
    """
    Return the entries of the archive's Secrets, each of which must be immutable.
    """
    texts = []
    for secret in plane.api.get(f"/api/v1/namespaces/{NAMESPACE}/secrets")["items"]:
        assert secret["immutable"] is True
        texts += [
            gzip.decompress(base64.b64decode(value)).decode() for value in secret["data"].values()
        ]
    return "\n".join(texts)


def patched_conditions(crd: Crd, mark: dict[Path, int]) -> list[str]:
    """
    Return the types of the conditions that Espalier has applied to a CRD after a mark.
    """
    return [
        condition["type"]
        for request in crd.plane.audit.requests(mark)
        if is_ours(request)
        and request.resource == "customresourcedefinitions/status"
        and request.name == crd.name
        for condition in (request.body or {}).get("status", {}).get("conditions", [])
    ]


def test_unknown_fields_are_pruned_into_the_archive_and_brought_back_on_demand(
    crd: MakeCrd, control_plane: ControlPlane
) -> None:
    relics = crd("relics")
    mark = control_plane.audit.mark()
    relics.put_legacy([version("v1", schema(SIZE))], storage="v1")
    relics.add(
        "v1",
        relics.object("v1", "clean", spec={"size": 1}),
        relics.object("v1", "dirty", spec={"size": 2, "junk": {"old": "treasure"}}),
        relics.object("v1", "topped", spec={"size": 3}, data=["heirloom"]),
    )
    before = relics.stored()

    relics.label(mode="enforce")
    relics.wait_until_current()

    assert {name: without_metadata(obj) for name, obj in relics.stored().items()} == {
        "clean": {"spec": {"size": 1}},
        "dirty": {"spec": {"size": 2}},
        "topped": {"spec": {"size": 3}},
    }
    assert "treasure" in archived(control_plane)
    assert "heirloom" in archived(control_plane)
    preserving = relics.condition(NON_STRUCTURAL)
    assert preserving is not None
    assert (preserving["reason"], preserving["message"]) == ("Violations", PRESERVING)

    def no_fight() -> None:
        assert NON_STRUCTURAL not in patched_conditions(relics, mark)
        assert relics.condition(NON_STRUCTURAL) == preserving

    throughout(no_fight, seconds=20)
    assert CURRENT in patched_conditions(relics, mark)

    relics.label(mode=None)

    def let_go() -> None:
        assert relics.condition(CURRENT) is None

    eventually(let_go)
    restore(relics)
    assert {name: without_metadata(obj) for name, obj in relics.stored().items()} == {
        name: without_metadata(obj) for name, obj in before.items()
    }


def test_a_new_object_with_unknown_fields_is_pruned_within_seconds(
    crd: MakeCrd, control_plane: ControlPlane
) -> None:
    fossils = crd("fossils")
    fossils.put_legacy([version("v1", schema(SIZE))], storage="v1")
    fossils.add("v1", fossils.object("v1", "old", spec={"size": 1}))
    fossils.label(mode="enforce")
    fossils.wait_until_current()

    fossils.add("v1", fossils.object("v1", "new", spec={"size": 2, "junk": "latecomer"}))

    def pruned() -> None:
        assert fossils.stored()["new"]["spec"] == {"size": 2}

    eventually(pruned, within_seconds=10)
    assert "latecomer" in archived(control_plane)


def test_whoever_keeps_putting_fields_back_is_named_and_left_alone(crd: MakeCrd) -> None:
    sieges = crd("sieges")
    sieges.put_legacy([version("v1", schema(SIZE))], storage="v1")
    sieges.add("v1", sieges.object("v1", "keep", spec={"size": 1}))
    sieges.label(mode="enforce")
    sieges.wait_until_current()
    path = f"{sieges.objects_path('v1')}/keep?fieldManager=trebuchet"

    def put_back() -> None:
        if "stone" not in sieges.stored()["keep"]["spec"]:
            sieges.plane.api.merge(path, {"spec": {"stone": {"weight": 90}}})
        current = sieges.condition(CURRENT)
        assert current is not None
        assert current["status"] == "False"
        assert "default/keep" in current["message"]
        assert "put back by trebuchet)" in current["message"]

    eventually(put_back, within_seconds=60)

    def stands() -> None:
        assert "stone" in sieges.stored()["keep"]["spec"]

    throughout(stands, seconds=10)
    sieges.plane.api.merge(path, {"spec": {"stone": None}})


def test_what_any_version_specifies_stays(crd: MakeCrd) -> None:
    twins = crd("twins")
    one = version("v1", schema({"one": {"type": "string"}}))
    two = version("v2", schema({"two": {"type": "string"}}))
    twins.put_legacy([one, two], storage="v2")
    twins.add(
        "v2",
        twins.object("v2", "both", spec={"one": "a", "two": "b", "neither": "c"}),
        twins.object("v2", "first", spec={"one": "a"}),
    )

    twins.label(mode="enforce")
    twins.wait_until_current()

    assert {name: obj["spec"] for name, obj in twins.stored().items()} == {
        "both": {"one": "a", "two": "b"},
        "first": {"one": "a"},
    }


def without_metadata(obj: dict[str, object]) -> dict[str, object]:
    ignored = {"apiVersion", "kind", "metadata"}
    return {key: value for key, value in obj.items() if key not in ignored}


def restore(crd: Crd) -> None:
    """
    Run ``espalier restore`` as an administrator.
    """
    result = subprocess.run(
        [sys.executable, "-m", "espalier", "restore", crd.name],
        env=os.environ | {"KUBECONFIG": str(crd.plane.kubeconfig)},
        capture_output=True,
        text=True,
        check=False,
        timeout=PACE.scaled(RESTORE_SECONDS),
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_what_was_preserved_is_not_lost_when_the_server_begins_to_prune(
    crd: MakeCrd, control_plane: ControlPlane
) -> None:
    ruins = crd("ruins")
    ports = {"ports": {"type": "array", "items": {"type": "object", "properties": SIZE}}}
    ruins.put_legacy([version("v1", schema(ports))], storage="v1")
    # A list is owned as a whole, so managedFields do not name its items.
    ruins.add("v1", ruins.object("v1", "old", spec={"ports": [{"size": 1, "junk": "relic"}]}))
    ruins.add("v1", ruins.object("v1", "bare", spec={"ports": [{"size": 2, "junk": "relic"}]}))
    bare = ruins.stored()["bare"]
    del bare["metadata"]["managedFields"]
    control_plane.raw_put(f"{ruins.raw_prefix}default/bare", json.dumps(bare).encode())
    before = ruins.raw()

    ruins.label(mode="observe")
    ruins.wait_for(CURRENT, "False", "Observed")
    ruins.plane.api.merge(ruins.path, {"spec": {"preserveUnknownFields": False}})
    ruins.label(mode="enforce")
    lost = ruins.wait_for(CURRENT, "False", "WouldLoseData")

    assert "unknown fields were preserved before" in lost["message"]
    assert ruins.raw() == before

    ruins.consent(lost)
    ruins.wait_until_current()
    assert b"relic" not in b"".join(ruins.raw().values())
