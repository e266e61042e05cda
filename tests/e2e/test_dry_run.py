"""
``espalier migrate --dry-run`` on a real server: what it reports, the run does, and nothing is kept.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import cases
from tests.e2e.conftest import MakeCrd
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import Crd, Document, schema, version
from tests.e2e.operating import espalier
from tests.e2e.waiting import eventually
from tests.e2e.webhooks import Refusal, Webhook, converting

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("installed")]

RULE = cases.DEFAULT_FOLDER / "01-rule-on-absent-optional"
SIZE = {"size": {"type": "integer"}}
QUICK = ("--yes", "--settle-seconds", "0")


def schemas_of(name: str) -> dict[str, Document]:
    manifest = cases.only_document(RULE / name)
    versions: Any = manifest["spec"]["versions"]  # type: ignore[index,call-overload]
    return {one["name"]: one["schema"]["openAPIV3Schema"] for one in versions}


def both(plane: ControlPlane, crd: Crd, *options: str, code: int) -> tuple[Document, Document]:
    """
    Rehearse and migrate; return both documents.
    """
    before, definition = crd.raw(), crd.read()
    shown = espalier(plane, "migrate", crd.name, "--dry-run", *options, "-o", "json", code=code)
    assert crd.raw() == before
    assert crd.read() == definition
    done = espalier(
        plane, "migrate", crd.name, *QUICK, *options, "-o", "json", code=4 if code else 0
    )
    return json.loads(shown), json.loads(done)


def test_objects_that_a_new_rule_freezes_are_reported(
    crd: MakeCrd, control_plane: ControlPlane
) -> None:
    barns = crd("barns")
    old, new = schemas_of("crd.yaml"), schemas_of("crd-v2.yaml")
    barns.create([version("v1", old["v1"])], storage="v1")
    for obj in yaml.safe_load_all((RULE / "object.yaml").read_text()):
        barns.add("v1", barns.object("v1", obj["metadata"]["name"], spec=obj["spec"]))
    barns.set_versions([version(name, one) for name, one in new.items()], storage="v2")
    barns.wait_until_served("v2")
    lost = espalier(control_plane, "migrate", barns.name, "--dry-run", "-o", "json", code=1)
    digest = json.loads(lost)["summary"].rpartition("--accept-loss ")[2]

    shown, done = both(control_plane, barns, "--accept-loss", digest, code=1)

    (item,), (after,) = shown["items"], done["items"]
    assert item["reason"] == after["reason"] == "Failed"
    assert item["message"] == after["message"]
    assert {one["name"] for one in item["failed"]} == {"plain", "acme"}
    assert item["failed"] == after["failed"]
    blocked = [one["message"] for one in shown["findings"] if one["rule"] == "survey/unwritable"]
    assert any("no such key: vendor" in text for text in blocked)


def test_what_nothing_stops_is_proved(crd: MakeCrd, control_plane: ControlPlane) -> None:
    carts = crd("carts")
    pair = [version("v1alpha1", schema(SIZE)), version("v1", schema(SIZE))]
    carts.create(pair, storage="v1alpha1")
    carts.add("v1alpha1", *(carts.object("v1alpha1", name, spec={"size": 1}) for name in "abc"))
    carts.set_versions(pair, storage="v1")

    shown, done = both(control_plane, carts, code=0)

    assert shown["summary"].endswith("nothing would stop a migration")
    assert done["items"][0]["proved"]
    assert carts.stored_at() == {"v1": 3}


def test_objects_of_a_version_that_was_trimmed_by_hand_are_reported(
    crd: MakeCrd, control_plane: ControlPlane
) -> None:
    yards = crd("yards")
    pair = [version("v1beta1", schema(SIZE)), version("v1", schema(SIZE))]
    yards.create(pair, storage="v1beta1")
    yards.add("v1beta1", *(yards.object("v1beta1", name, spec={"size": 3}) for name in ("a", "b")))
    yards.set_versions(pair, storage="v1")
    control_plane.api.merge(f"{yards.path}/status", {"status": {"storedVersions": ["v1"]}})
    yards.set_versions([pair[1]], storage="v1")

    shown, done = both(control_plane, yards, code=4)

    assert shown["items"][0]["reason"] == done["items"][0]["reason"] == "Undecodable"
    assert shown["complete"] is False
    assert "nothing would stop" not in shown["summary"]
    # What the message says to do is done here.
    told = "Put v1beta1 back into spec.versions, with its schema of then and with served: true"
    assert told in done["items"][0]["message"]
    yards.set_versions(pair, storage="v1")

    def migrated() -> None:
        cured = json.loads(espalier(control_plane, "migrate", yards.name, *QUICK, "-o", "json"))
        assert cured["items"][0]["proved"]

    eventually(migrated)
    yards.set_versions([pair[1]], storage="v1")
    assert yards.stored_at() == {"v1": 2}
    yards.wait_until_served("v1")


def test_a_webhook_that_is_gone_is_reported(crd: MakeCrd, control_plane: ControlPlane) -> None:
    moats = crd("moats")
    pair = [version("v1alpha1", schema(SIZE)), version("v1", schema(SIZE))]
    moats.create([pair[0]], storage="v1alpha1")
    moats.add("v1alpha1", moats.object("v1alpha1", "one", spec={"size": 3}))
    service = {"namespace": "gone-system", "name": "gone", "path": "/convert", "port": 9443}
    control_plane.api.merge(
        moats.path,
        {
            "spec": {
                "versions": [pair[0] | {"storage": False}, pair[1] | {"storage": True}],
                "conversion": {
                    "strategy": "Webhook",
                    "webhook": {
                        "conversionReviewVersions": ["v1"],
                        "clientConfig": {"service": service},
                    },
                },
            }
        },
    )

    shown = json.loads(
        espalier(control_plane, "migrate", moats.name, "--dry-run", "-o", "json", code=3)
    )

    (item,) = shown["items"]
    assert item["reason"] == "WebhookUnavailable"
    assert 'service "gone" not found' in item["message"]
    assert "nothing would stop" not in shown["summary"]
    # What the message says to do is done here.
    assert "set spec.conversion to strategy: None" in item["message"]
    control_plane.api.merge(
        moats.path, {"spec": {"conversion": {"strategy": "None", "webhook": None}}}
    )

    def migrated() -> None:
        cured = json.loads(espalier(control_plane, "migrate", moats.name, *QUICK, "-o", "json"))
        assert cured["items"][0]["proved"]

    eventually(migrated)
    assert moats.stored_at() == {"v1": 1}


def test_objects_that_the_webhook_refuses_are_reported(
    crd: MakeCrd, control_plane: ControlPlane, tmp_path: Path
) -> None:
    def convert(obj: Document, wanted: str) -> Document:
        if obj["spec"].get("size") == 0:
            # A text of Go's decoder, as an API server has it, too, where a webhook answers wrongly.
            raise Refusal("json: cannot unmarshal string into Go struct field Well.spec.size")
        return {**obj, "apiVersion": wanted}

    wells = crd("wells")
    webhook = Webhook(tmp_path / "webhook", converting(convert))
    pair = [version("v1alpha1", schema(SIZE)), version("v1", schema(SIZE))]
    try:
        wells.create([pair[0]], storage="v1alpha1")
        for name, size in (("bad", 0), ("fine", 1)):
            wells.add("v1alpha1", wells.object("v1alpha1", name, spec={"size": size}))
        client_config = webhook.client_config()
        control_plane.api.merge(
            wells.path,
            {
                "spec": {
                    "versions": [pair[0] | {"storage": False}, pair[1] | {"storage": True}],
                    "conversion": {
                        "strategy": "Webhook",
                        "webhook": {
                            "conversionReviewVersions": ["v1"],
                            "clientConfig": client_config,
                        },
                    },
                }
            },
        )

        shown, done = both(control_plane, wells, code=4)

        assert shown["items"][0]["reason"] == done["items"][0]["reason"] == "Undecodable"
        assert "default/bad" in done["items"][0]["message"]
        assert "json: cannot unmarshal string" in done["items"][0]["message"]
        assert wells.stored_at() == {"v1": 1, "v1alpha1": 1}
    finally:
        control_plane.etcd.delete_prefix(wells.raw_prefix)
        webhook.close()
