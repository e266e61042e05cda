"""
Objects that cannot be rewritten: all others are rewritten, and nothing is trimmed.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.conftest import MakeCrd
from tests.e2e.controlplane.api import ApiError
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import CURRENT, GROUP, VALID, Crd, schema, version
from tests.e2e.waiting import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("operator")]

POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
NAME = "no-bad-cups"
VERSIONS = [version("v1alpha1", schema()), version("v1", schema())]


def flipped(crd: Crd, *names: str) -> None:
    crd.create(VERSIONS, storage="v1alpha1")
    crd.add("v1alpha1", *(crd.object("v1alpha1", name, spec={}) for name in names))
    crd.set_versions(VERSIONS, storage="v1")


@pytest.fixture
def policy(control_plane: ControlPlane) -> Iterator[str]:
    """
    A policy that denies every update of the cup `bad`.
    """
    rule = {"apiGroups": [GROUP], "apiVersions": ["*"], "resources": ["cups"]}
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule | {"operations": ["UPDATE"]}]},
        "validations": [{"expression": "object.metadata.name != 'bad'", "message": "bad it stays"}],
    }
    binding = {"policyName": NAME, "validationActions": ["Deny"]}
    kinds = {POLICIES: spec, BINDINGS: binding}
    for path, content in kinds.items():
        kind = "ValidatingAdmissionPolicy" + ("Binding" if path == BINDINGS else "")
        body = {"kind": kind, "metadata": {"name": NAME}, "spec": content}
        control_plane.api.post(path, {"apiVersion": "admissionregistration.k8s.io/v1", **body})
    yield f"{POLICIES}/{NAME}"
    for path in kinds:
        control_plane.api.delete(f"{path}/{NAME}")


def test_one_refused_object_holds_up_the_trim_and_nothing_else(crd: MakeCrd, policy: str) -> None:
    cups = crd("cups")
    flipped(cups, "bad", "good", "better")
    path = f"{cups.objects_path('v1')}/bad"

    def in_force() -> None:
        refusal = ""
        try:
            cups.plane.api.merge(path, {"metadata": {"labels": {"a": "b"}}})
        except ApiError as error:
            refusal = error.message
        assert "bad it stays" in refusal

    eventually(in_force)

    cups.label(mode="enforce")
    failed = cups.wait_for(CURRENT, "False", "Failed")

    by = "ValidatingAdmissionPolicy 'no-bad-cups' with binding 'no-bad-cups'"
    assert f"422 Invalid, denied by {by} (default/bad)" in failed["message"]
    assert cups.stored_at() == {"v1alpha1": 1, "v1": 2}
    assert cups.stored_versions() == ["v1alpha1", "v1"]

    cups.plane.api.delete(policy)
    cups.wait_until_current(within_seconds=90)
    assert cups.stored_at() == {"v1": 3}
    assert cups.stored_versions() == ["v1"]


def test_bytes_that_no_server_can_read_are_named_and_left_and_the_others_go_on(
    crd: MakeCrd, control_plane: ControlPlane
) -> None:
    jars = crd("jars")
    flipped(jars, *(f"j{number:02}" for number in range(30)))
    broken = {"j03", "j04", "j29"}
    bytes_left = b'{"apiVersion": "e2e.example.com/v1alpha1", "kind": "Ja'
    whole = {name: value for name, value in jars.raw().items() if name in broken}
    for name in broken:
        control_plane.raw_put(f"{jars.raw_prefix}default/{name}", bytes_left)

    jars.label(mode="enforce")
    undecodable = jars.wait_for(CURRENT, "False", "Undecodable")
    unknown = jars.wait_for(VALID, "Unknown", "Incomplete")

    assert "default/j03, default/j04, default/j29" in undecodable["message"]
    assert "27 other objects looked at, all in normal form" in undecodable["message"]
    assert "default/j03, default/j04, default/j29" in unknown["message"]
    assert jars.stored_versions() == ["v1alpha1", "v1"]
    for name, value in jars.raw().items():
        assert (value == bytes_left) is (name in broken)
        moved = value.startswith(b'{"apiVersion":"e2e.example.com/v1",')
        assert moved is (name not in broken)

    for name, value in whole.items():
        control_plane.raw_put(f"{jars.raw_prefix}default/{name}", value)
    jars.wait_until_current(within_seconds=60)
    assert jars.stored_at() == {"v1": 30}
    assert jars.stored_versions() == ["v1"]


def test_what_violates_the_schema_at_its_root_is_named_and_the_rest_is_done(
    crd: MakeCrd,
) -> None:
    lids = crd("lids")
    size = {"size": {"type": "integer"}}
    loose = version("v1alpha1", schema(size))
    lids.create([loose, version("v1", schema(size))], storage="v1alpha1")
    bad = lids.object("v1alpha1", "bad")
    # Without any field it would have no managedFields, and nothing would tell what it holds.
    bad["metadata"]["labels"] = {"made-by": "a-test"}
    lids.add(
        "v1alpha1",
        *(lids.object("v1alpha1", name, spec={"size": 1}) for name in ("good", "better")),
        bad,
    )
    # Servers tolerate values that were invalid before, but not at the root.
    strict = {**schema(size), "required": ["spec"]}
    lids.set_versions([loose, version("v1", strict)], storage="v1")

    lids.label(mode="enforce")
    failed = lids.wait_for(CURRENT, "False", "Failed")
    invalid = lids.wait_for(VALID, "False", "Invalid")

    assert "spec: Required value" in failed["message"]
    assert "default/bad" in failed["message"]
    assert "1 object of 3" in failed["message"]
    assert "spec: Required value (1 object: default/bad)" in invalid["message"]
    assert lids.stored_at() == {"v1alpha1": 1, "v1": 2}
    assert lids.stored_versions() == ["v1alpha1", "v1"]

    lids.plane.api.merge(f"{lids.objects_path('v1')}/bad", {"spec": {"size": 2}})
    lids.wait_until_current(within_seconds=90)
    assert lids.stored_versions() == ["v1"]


def test_broken_bytes_among_the_objects_of_a_legacy_definition(
    crd: MakeCrd, control_plane: ControlPlane
) -> None:
    pits = crd("pits")
    pits.put_legacy([version("v1", schema({"size": {"type": "integer"}}))], storage="v1")
    names = [f"p{number:02}" for number in range(12)]
    pits.add("v1", *(pits.object("v1", n, spec={"size": 1, "junk": "x"}) for n in names))
    whole = broken(pits, "p03")

    pits.label(mode="enforce")
    undecodable = pits.wait_for(CURRENT, "False", "Undecodable", within_seconds=90)

    assert "default/p03" in undecodable["message"]
    stored = {name: value for name, value in pits.raw().items() if name != "p03"}
    assert {json.dumps(json.loads(value)["spec"]) for value in stored.values()} == {'{"size": 1}'}
    assert pits.raw()["p03"] == BROKEN

    control_plane.raw_put(f"{pits.raw_prefix}default/p03", whole)
    pits.wait_until_current(within_seconds=90)
    assert pits.stored()["p03"]["spec"] == {"size": 1}


def test_broken_bytes_are_named_where_the_run_looks_and_only_there(
    crd: MakeCrd, control_plane: ControlPlane
) -> None:
    vats = crd("vats")
    elsewhere = "vats-elsewhere"
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": elsewhere}}
    control_plane.api.post("/api/v1/namespaces", namespace)
    flipped(vats, "a", "b", "c")
    for name in ("a", "b", "c"):
        there = vats.objects_path("v1alpha1").replace("/default/", f"/{elsewhere}/")
        control_plane.api.post(there, vats.object("v1alpha1", name, spec={}))
    whole = broken(vats, "b")
    whole_there = broken(vats, "c", namespace=elsewhere)
    key = "espalier.dev/namespaces"
    vats.plane.api.merge(vats.path, {"metadata": {"annotations": {key: elsewhere}}})

    vats.label(mode="enforce")
    undecodable = vats.wait_for(CURRENT, "False", "Undecodable", within_seconds=90)

    assert f"{elsewhere}/c" in undecodable["message"]
    assert "default/b" not in undecodable["message"]
    assert at_version(vats, elsewhere) == {"a": "v1", "b": "v1"}
    assert at_version(vats, "default") == {"a": "v1alpha1", "c": "v1alpha1"}
    assert vats.stored_versions() == ["v1alpha1", "v1"]

    control_plane.raw_put(f"{vats.raw_prefix}{elsewhere}/c", whole_there)
    control_plane.raw_put(f"{vats.raw_prefix}default/b", whole)
    vats.plane.api.merge(vats.path, {"metadata": {"annotations": {key: None}}})
    vats.wait_until_current(within_seconds=90)
    assert at_version(vats, elsewhere) == at_version(vats, "default") == dict.fromkeys("abc", "v1")


BROKEN = b'{"apiVersion": "e2e.example.com/v1alpha1", "kind": "'


def broken(crd: Crd, name: str, *, namespace: str = "default") -> bytes:
    """
    Replace the stored bytes of an object by broken ones, and return the original bytes.
    """
    key = f"{crd.raw_prefix}{namespace}/{name}"
    whole = crd.plane.raw_get(key)
    assert whole is not None
    crd.plane.raw_put(key, BROKEN)
    return whole


def at_version(crd: Crd, namespace: str) -> dict[str, str]:
    """
    Return the stored version of each readable object of a namespace.
    """
    values = crd.plane.etcd.values(f"{crd.raw_prefix}{namespace}/")
    return {
        key.rpartition("/")[2]: json.loads(value)["apiVersion"].rpartition("/")[2]
        for key, value in values
        if value != BROKEN
    }


def test_a_deeply_nested_object_is_rewritten_and_pruned_as_any_other(crd: MakeCrd) -> None:
    wells = crd("wells")
    deep: dict[str, Any] = {"bottom": 1}
    for _ in range(400):
        deep = {"a": deep}
    spec = {"raw": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    wells.put_legacy([version("v1", schema(spec))], storage="v1")
    wells.add(
        "v1",
        wells.object("v1", "kept", spec={"raw": deep}),
        wells.object("v1", "cut", spec={"raw": {}, "junk": deep}),
    )

    wells.label(mode="enforce")
    wells.wait_until_current()

    assert wells.stored()["kept"]["spec"] == {"raw": deep}
    assert wells.stored()["cut"]["spec"] == {"raw": {}}
