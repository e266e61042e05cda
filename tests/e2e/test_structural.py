"""
``NonStructuralSchema``: the server's own message, and no fight over the condition.
"""

from typing import Any

import pytest

from espalier import crd as definitions
from tests.e2e.conftest import MakeCrd, StartOperator
from tests.e2e.crds import NON_STRUCTURAL, Crd, version
from tests.e2e.waiting import eventually

pytestmark = pytest.mark.e2e

BROKEN: dict[str, Any] = {
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "untyped": {"description": "no type"},
                "list": {"type": "array"},
                "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
                "we.ird": {
                    "type": "object",
                    "additionalProperties": {"x-kubernetes-list-type": "set"},
                },
            },
        },
        "metadata": {"type": "object", "properties": {"labels": {"type": "object"}}},
    }
}


def put(crd: Crd) -> dict[str, Any]:
    """
    Write a CRD with a non-structural schema to etcd, and wait for the server's condition.
    """
    crd.put_legacy([version("v1", BROKEN)], storage="v1", preserve_unknown_fields=False)
    return crd.wait_for(NON_STRUCTURAL, "True", "Violations")


def test_the_condition_computed_is_the_servers(crd: MakeCrd) -> None:
    knots = crd("knots")
    theirs = put(knots)

    ours = definitions.nonstructural_condition(definitions.read_definition(knots.read()))

    assert ours is not None
    assert (ours.type, ours.status) == (theirs["type"], theirs["status"])
    assert (ours.reason, ours.message) == (theirs["reason"], theirs["message"])


def test_where_the_server_is_silent_espalier_says_the_same(
    crd: MakeCrd, start_operator: StartOperator
) -> None:
    burls = crd("burls")
    theirs = put(burls)
    # The server writes it once for each generation; a removed condition stays removed.
    burls.drop_condition(NON_STRUCTURAL)
    assert burls.condition(NON_STRUCTURAL) is None

    start_operator(structural_grace_seconds=1)

    ours = burls.wait_for(NON_STRUCTURAL, "True", "Violations")
    assert ours["message"] == theirs["message"]
    managers = [
        entry["manager"]
        for entry in burls.read()["metadata"]["managedFields"]
        if NON_STRUCTURAL in str(entry.get("fieldsV1"))
    ]
    assert managers == ["espalier-structural"]


def test_the_servers_condition_is_left_to_the_server(
    crd: MakeCrd, start_operator: StartOperator
) -> None:
    start_operator(structural_grace_seconds=1)
    galls = crd("galls")
    mark = galls.plane.audit.mark()
    theirs = put(galls)
    control = crd("controls")
    control.create([version("v1", {"type": "object"})], storage="v1")
    control.label(mode="enforce")

    def control_is_seen() -> None:
        assert control.condition("espalier.dev/StoredObjectsCurrent") is not None

    eventually(control_is_seen)
    assert galls.condition(NON_STRUCTURAL) == theirs
    assert [
        request.user_agent
        for request in galls.plane.audit.requests(mark)
        if request.name == galls.name and request.is_mutating and "espalier/" in request.user_agent
    ] == []
