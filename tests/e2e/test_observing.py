"""
Reports without writes: mode observe, and the read-only operator.
"""

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import MakeCrd, StartOperator
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import CURRENT, VALID, Crd, schema, version
from tests.e2e.operating import is_ours
from tests.e2e.waiting import eventually
from tests.e2e.writes import NAMESPACE

pytestmark = pytest.mark.e2e

SIZE = {"size": {"type": "integer"}}
SHADED = {"size": {"type": "integer"}, "shade": {"type": "string"}}
RED = {**SIZE, "color": {"type": "string", "default": "red"}}


def writes(plane: ControlPlane, mark: dict[Path, int]) -> set[tuple[str, str]]:
    """
    Return Espalier's writes outside of its own namespace.
    """
    return {
        (request.verb, request.resource)
        for request in plane.audit.requests(mark)
        if is_ours(request)
        and request.is_mutating
        and request.namespace != NAMESPACE
        and request.group != "authorization.k8s.io"
    }


def fingerprint(crd: Crd) -> tuple[object, object, object]:
    body = crd.read()
    return crd.raw(), body["spec"], body["status"]["storedVersions"]


def test_observing_writes_nothing_but_conditions(
    crd: MakeCrd, control_plane: ControlPlane, start_operator: StartOperator
) -> None:
    start_operator()
    lamps = crd("lamps")
    versions = [version("v1alpha1", schema(SHADED)), version("v1", schema(RED))]
    lamps.create(versions, storage="v1alpha1")
    lamps.add(
        "v1alpha1",
        *(lamps.object("v1alpha1", f"l{n}", spec={"size": n, "shade": "dark"}) for n in range(7)),
    )
    lamps.set_versions(versions, storage="v1")
    before, mark = fingerprint(lamps), control_plane.audit.mark()

    lamps.label(mode="observe")

    def surveyed() -> str:
        found = lamps.condition(CURRENT)
        assert found is not None
        assert found["reason"] == "Observed"
        assert "7 stored objects" in found["message"]
        return str(found["message"])

    message = eventually(surveyed)
    valid = lamps.wait_for(VALID, "True", "Valid")

    assert "Version v1alpha1 shows what the storage version does not, in 7 objects:" in message
    assert "spec.shade (7 objects: default/l0" in message
    assert "A rewrite would fill in defaults in 7 objects: spec.color" in message
    assert "Enforcing would stop with WouldLoseData" in message
    assert "to v1" in message
    assert "dark" not in message
    assert "none of 7 stored objects violates" in valid["message"]
    assert fingerprint(lamps) == before
    assert writes(control_plane, mark) == {
        ("patch", "customresourcedefinitions/status"),
        ("create", "events"),
    }


def test_unknown_fields_of_a_legacy_definition_are_surveyed_and_stay(
    crd: MakeCrd, control_plane: ControlPlane, start_operator: StartOperator
) -> None:
    start_operator()
    coins = crd("coins")
    coins.put_legacy([version("v1", schema(SIZE))], storage="v1")
    coins.add(
        "v1",
        coins.object("v1", "plain", spec={"size": 1}),
        coins.object("v1", "odd", spec={"size": 2, "junk": {"old": "treasure"}}),
    )
    # The object was written before there was a schema.
    odd = coins.stored()["odd"]
    odd["spec"]["size"] = "large"
    control_plane.raw_put(f"{coins.raw_prefix}default/odd", json.dumps(odd).encode())
    before, mark = fingerprint(coins), control_plane.audit.mark()

    coins.label(mode="observe")
    invalid = coins.wait_for(VALID, "False", "Invalid")
    observed = coins.wait_for(CURRENT, "False", "Observed")

    assert "1 object of 2 violate" in invalid["message"]
    assert 'must be of type integer: "string" (1 object: default/odd)' in invalid["message"]
    assert "Enforcing would remove unknown fields from 1 object: spec.junk" in observed["message"]
    assert "treasure" not in str(coins.read()["status"])
    assert fingerprint(coins) == before
    assert {resource for _, resource in writes(control_plane, mark)} == {
        "customresourcedefinitions/status",
        "events",
    }


def test_a_read_only_operator_only_looks_whatever_the_label_says(
    crd: MakeCrd, control_plane: ControlPlane, start_operator: StartOperator
) -> None:
    start_operator(read_only="true")
    bulbs = crd("bulbs")
    versions = [version("v1alpha1", schema(SIZE)), version("v1", schema(RED))]
    bulbs.create(versions, storage="v1alpha1")
    bulbs.add("v1alpha1", bulbs.object("v1alpha1", "b", spec={"size": 1}))
    bulbs.set_versions(versions, storage="v1")
    before, mark = fingerprint(bulbs), control_plane.audit.mark()

    bulbs.label(mode="enforce")
    found = bulbs.wait_for(CURRENT, "False", "Observed")
    bulbs.wait_for(VALID, "True", "Valid")

    assert "the operator is read-only" in found["message"]
    assert fingerprint(bulbs) == before
    assert {resource for _, resource in writes(control_plane, mark)} <= {
        "customresourcedefinitions/status",
        "events",
    }


def test_stored_objects_are_invalid_and_then_valid(
    crd: MakeCrd, start_operator: StartOperator
) -> None:
    start_operator(resurvey_seconds=2)
    pans = crd("pans")
    loose = {"size": {"type": "integer"}}
    strict = {"size": {"type": "integer", "maximum": 5}}
    pans.create([version("v1", schema(loose))], storage="v1")
    pans.add(
        "v1",
        pans.object("v1", "small", spec={"size": 1}),
        pans.object("v1", "large", spec={"size": 9}),
    )
    pans.set_versions([version("v1", schema(strict))], storage="v1")

    pans.label(mode="enforce")
    invalid = pans.wait_for(VALID, "False", "Invalid")
    pans.wait_until_current()

    assert "1 object of 2 violate" in invalid["message"]
    assert "should be less than or equal to 5 (1 object: default/large)" in invalid["message"]

    def annotated() -> None:
        annotations = pans.stored()["large"]["metadata"].get("annotations", {})
        assert '"path":"spec.size"' in annotations.get("espalier.dev/schema-violations", "")

    eventually(annotated)
    assert "annotations" not in pans.stored()["small"]["metadata"]

    path = f"{pans.objects_path('v1')}/large"
    pans.plane.api.merge(path, {"spec": {"size": 5}})
    pans.wait_for(VALID, "True", "Valid")

    def clean() -> None:
        assert "espalier.dev" not in str(pans.stored()["large"]["metadata"].get("annotations", {}))

    eventually(clean)
