"""
Attacks on stored data that once succeeded, by nothing but commands and what etcd holds after them.

Each is tried by the commands alone, so that any release can be held to it.
"""

import gzip
import json
from base64 import b64decode, b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import MakeCrd
from tests.e2e.controlplane.api import ApiError
from tests.e2e.crds import Crd, Document, schema, version
from tests.e2e.operating import espalier, run_command
from tests.e2e.test_conversion import conversion
from tests.e2e.waiting import eventually
from tests.e2e.webhooks import Webhook, converting

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("installed")]

SIZE = {"size": {"type": "integer"}}
BOTH = {**SIZE, "color": {"type": "string"}}
QUICK = ("--yes", "--settle-seconds", "0", "-o", "json")
CONFIG_MAPS = "/api/v1/namespaces/espalier-system/configmaps"


def versions(**schemas: Document) -> list[Document]:
    return [version(name, schema(spec)) for name, spec in schemas.items()]


def colored(crd: Crd, at: str) -> None:
    crd.add(at, crd.object(at, "a", spec={"size": 1, "color": "blue"}))


def forget_managers(crd: Crd, at: str) -> None:
    """
    Clear the object's managedFields, so that they name nothing.
    """
    path = f"{crd.objects_path(at)}/a"
    crd.plane.api.merge(path, {"metadata": {"managedFields": [{}]}})


def change(crd: Crd, storage: str, **schemas: Document) -> None:
    """
    Change the versions, and wait until the server stores at the new ones.
    """
    crd.set_versions(versions(**schemas), storage=storage)

    def is_stored_by_them() -> None:
        path = crd.objects_path(storage)
        probe = crd.object(storage, "probe", spec={"color": "x"})
        try:
            crd.plane.api.post(path, probe)
            stored = crd.stored()["probe"]
            crd.plane.api.delete(f"{path}/probe")
        except ApiError as error:
            raise AssertionError(str(error)) from error
        assert stored["apiVersion"] == f"{crd.group}/{storage}"
        assert ("color" in stored.get("spec", {})) == ("color" in schemas[storage])

    eventually(is_stored_by_them)


def migrate(crd: Crd, *options: str) -> Document:
    """
    Migrate, and return the document; it must have left the field as it was stored.
    """
    result = run_command(crd.plane, "migrate", crd.name, *QUICK, *options)
    assert crd.stored()["a"]["spec"] == {"size": 1, "color": "blue"}, result.stdout
    assert result.returncode != 0, result.stdout
    document: Document = json.loads(result.stdout)
    return document


def reason_of(document: Document) -> str:
    (item,) = document["items"]
    return str(item["reason"])


@pytest.fixture
def webhook(tmp_path: Path) -> Iterator[Webhook]:
    served = Webhook(tmp_path / "webhook", converting(lambda obj, at: {**obj, "apiVersion": at}))
    yield served
    served.close()


def tracked_since(crd: Crd, time: str) -> None:
    """
    Have etcd show that the definition's spec was written last at a time.
    """
    body = json.loads(crd.plane.raw_get(crd.raw_key) or b"")
    body["metadata"]["managedFields"] = [
        {
            "manager": "helm",
            "operation": "Update",
            "apiVersion": "apiextensions.k8s.io/v1",
            "time": time,
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:versions": {}, "f:preserveUnknownFields": {}}},
        }
    ]
    crd.plane.raw_put(crd.raw_key, json.dumps(body).encode())

    def seen() -> None:
        (entry,) = crd.read()["metadata"].get("managedFields", [{}])
        assert entry["time"] == time

    eventually(seen)


@pytest.fixture
def proved(crd: MakeCrd) -> Crd:
    """
    A definition whose one object is proved to be current, with both fields.
    """
    made = crd("myths")
    made.create(versions(v1=BOTH), storage="v1")
    colored(made, "v1")
    forget_managers(made, "v1")
    espalier(made.plane, "migrate", made.name, *QUICK)
    return made


def test_a_field_set_after_managed_fields_had_stopped(crd: MakeCrd) -> None:
    myths = crd("myths")
    myths.create(versions(v0=BOTH, v1=BOTH), storage="v0")
    myths.add("v0", myths.object("v0", "a", spec={"size": 1}))
    change(myths, "v1", v0=BOTH, v1=BOTH)
    path = f"{myths.objects_path('v1')}/a"
    myths.plane.api.merge(path, {"spec": {"size": 1}})
    forget_old_versions(myths)
    change(myths, "v1", v1=BOTH)
    myths.plane.api.merge(path, {"spec": {"color": "blue"}})
    # API servers before 1.37 have removed them all.
    tracked = myths.plane.api.get(path)["metadata"].get("managedFields", [])
    assert "f:color" not in json.dumps(tracked)
    change(myths, "v2", v1=BOTH, v2=SIZE)

    assert reason_of(migrate(myths)) == "WouldLoseData"

    # Nor is it erased once the old version no longer shows it either.
    change(myths, "v2", v1=SIZE, v2=SIZE)
    assert reason_of(migrate(myths)) == "WouldLoseData"


def test_a_field_that_only_the_other_version_of_a_webhook_specifies(
    crd: MakeCrd, webhook: Webhook
) -> None:
    myths = crd("myths")
    myths.create(versions(v1=BOTH, v2=BOTH), storage="v2")
    myths.plane.api.merge(myths.path, {"spec": {"conversion": conversion(webhook)}})
    # Its managedFields name the version that still specifies the field.
    colored(myths, "v1")
    change(myths, "v2", v1=BOTH, v2=SIZE)

    assert reason_of(migrate(myths)) == "WouldLoseData"


def test_another_namespace_that_knows_nothing_of_the_record(proved: Crd) -> None:
    change(proved, "v1", v1=SIZE)
    assert reason_of(migrate(proved)) == "WouldLoseData"

    assert reason_of(migrate(proved, "--operator-namespace", "default")) == "OtherOperator"


@pytest.mark.parametrize("damage", ["newer", "deleted"])
def test_a_record_that_cannot_be_read(proved: Crd, damage: str) -> None:
    found = proved.plane.api.get(CONFIG_MAPS)["items"]
    (kept,) = (one for one in found if proved.name in one["metadata"]["name"])
    path = f"{CONFIG_MAPS}/{kept['metadata']['name']}"
    if damage == "deleted":
        proved.plane.api.delete(path)
    else:
        ((key, packed),) = kept["binaryData"].items()
        document = json.loads(gzip.decompress(b64decode(packed)))
        document |= {"format": 99}
        data = b64encode(gzip.compress(json.dumps(document).encode())).decode()
        proved.plane.api.merge(path, {"binaryData": {key: data}})
    change(proved, "v1", v1=SIZE)

    assert reason_of(migrate(proved)) == "RecordUnreadable"


def test_a_field_that_each_version_drops_in_turn(crd: MakeCrd) -> None:
    myths = crd("myths")
    myths.create(versions(v0=BOTH, v1=BOTH), storage="v0")
    colored(myths, "v0")
    forget_managers(myths, "v0")
    change(myths, "v1", v0=BOTH, v1=SIZE)
    assert reason_of(migrate(myths)) == "WouldLoseData"

    change(myths, "v1", v0=SIZE, v1=SIZE)

    assert reason_of(migrate(myths)) == "WouldLoseData"


def test_one_object_with_forged_managed_fields(crd: MakeCrd) -> None:
    myths = crd("myths")
    myths.create(versions(v0=BOTH, v1=BOTH), storage="v0")
    colored(myths, "v0")
    path = myths.objects_path("v0")
    entry = {
        "manager": "tenant",
        "operation": "Update",
        "apiVersion": f"{myths.group}/v0",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:\n\x1b[31mcall 555 now": {}}},
    }
    forged = myths.object("v0", "forged", spec={"size": 2})
    forged["metadata"]["managedFields"] = [entry]
    myths.plane.api.post(path, forged)
    change(myths, "v1", v0=BOTH, v1=BOTH)

    result = run_command(myths.plane, "migrate", myths.name, *QUICK)

    item = json.loads(result.stdout)["items"][0]
    assert myths.stored()["a"]["apiVersion"] == f"{myths.group}/v1"
    assert item["reason"] == "WouldLoseData"
    assert "default/forged" in item["message"]
    assert not {"\n", "\x1b"} & set(item["message"])


def test_plain_accept_consents_to_nothing(proved: Crd) -> None:
    change(proved, "v1", v1=SIZE)
    proved.label(loss="accept")

    document = migrate(proved)

    assert reason_of(document) == "WouldLoseData"
    assert "consents to nothing" in document["items"][0]["message"]


@pytest.mark.parametrize("is_served", [True, False])
def test_stored_versions_that_were_trimmed_by_hand(crd: MakeCrd, *, is_served: bool) -> None:
    myths = crd("myths")
    myths.create(versions(v1=BOTH, v2=SIZE), storage="v1")
    colored(myths, "v1")
    espalier(myths.plane, "migrate", myths.name, *QUICK)
    change(myths, "v2", v1=BOTH, v2=SIZE)
    forget_old_versions(myths)
    if not is_served:
        old, new = versions(v1=BOTH, v2=SIZE)
        myths.set_versions([{**old, "served": False}, new], storage="v2")

    assert reason_of(migrate(myths)) == "WouldLoseData"


def forget_old_versions(crd: Crd) -> None:
    """
    Trim the stored versions by hand, as people do to drop a version.
    """
    body = crd.read()
    body["status"]["storedVersions"] = body["status"]["storedVersions"][-1:]
    crd.plane.api.put(f"{crd.path}/status", body)


def stop_preserving(crd: Crd) -> None:
    """
    Have the server prune, and wait until it does.
    """
    crd.plane.api.merge(crd.path, {"spec": {"preserveUnknownFields": False}})

    def is_hidden() -> None:
        assert "color" not in crd.plane.api.get(f"{crd.objects_path('v1')}/a")["spec"]

    eventually(is_hidden)


def is_gone(crd: Crd) -> None:
    assert crd.plane.raw_get(crd.raw_key) is None


def test_a_definition_that_stopped_preserving_unknown_fields_without_a_trace(
    crd: MakeCrd,
) -> None:
    myths = crd("myths")
    myths.put_legacy(versions(v1=SIZE), storage="v1")
    tracked_since(myths, "2020-01-01T00:00:00Z")
    colored(myths, "v1")

    stop_preserving(myths)

    # The server sets a time for what is added or changed, and not for what is only removed.
    (entry,) = myths.read()["metadata"]["managedFields"]
    assert entry["time"] == "2020-01-01T00:00:00Z"
    assert reason_of(migrate(myths)) == "WouldLoseData"


def test_a_definition_that_was_seen_to_preserve_unknown_fields(crd: MakeCrd) -> None:
    myths = crd("myths")
    myths.put_legacy(versions(v1=SIZE), storage="v1")
    colored(myths, "v1")
    # Whatever a run does elsewhere, it takes note of the definition.
    espalier(myths.plane, "migrate", myths.name, "--namespace", "kube-public", *QUICK)
    tracked_since(myths, "2020-01-01T00:00:00Z")
    forget_managers(myths, "v1")

    stop_preserving(myths)

    assert reason_of(migrate(myths)) == "WouldLoseData"


def test_an_object_that_is_older_than_the_definition(crd: MakeCrd) -> None:
    myths = crd("myths")
    myths.create(versions(v1=BOTH), storage="v1")
    colored(myths, "v1")
    path = f"{myths.objects_path('v1')}/a"
    myths.plane.api.merge(path, {"metadata": {"finalizers": ["example.com/slow"]}})
    myths.plane.api.delete(myths.path)

    # The object keeps the definition from going; so somebody takes its finalizer off.
    def is_stuck() -> None:
        assert "deletionTimestamp" in myths.plane.api.get(path)["metadata"]

    eventually(is_stuck)
    myths.plane.api.merge(myths.path, {"metadata": {"finalizers": []}})
    eventually(lambda: is_gone(myths))
    # It may all happen within the same second, which is all that times of creation show.
    stored = myths.stored()["a"]
    stored["metadata"]["creationTimestamp"] = "2020-01-01T00:00:00Z"
    myths.plane.raw_put(f"{myths.raw_prefix}default/a", json.dumps(stored).encode())
    myths.create(versions(v1=SIZE), storage="v1")

    assert reason_of(migrate(myths)) == "WouldLoseData"
