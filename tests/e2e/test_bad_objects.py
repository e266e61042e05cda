"""
Objects that cannot be rewritten: the others are, and nothing is trimmed.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.conftest import MakeCrd
from tests.e2e.controlplane.api import ApiError
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import CURRENT, GROUP, Crd, schema, version
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
    Forbid every update of a cup that is named `bad`.
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

    assert "default/bad" in failed["message"]
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

    assert "default/j03, default/j04, default/j29" in undecodable["message"]
    assert "27 other objects looked at, all in normal form" in undecodable["message"]
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
