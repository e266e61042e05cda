"""
Server-side apply: on objects, and on the conditions of definitions.
"""

from tests.contract.server import MERGE, OTHER_UID, Answer, Object
from tests.contract.widgets import Widgets


def _condition(type_: str, status: str = "True") -> Object:
    return {
        "type": type_,
        "status": status,
        "reason": "R",
        "message": "m",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }


async def _apply(widgets: Widgets, manager: str, *conditions: Object, force: bool = True) -> Answer:
    body = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": widgets.name},
        "status": {"conditions": list(conditions)} if conditions else {},
    }
    options = {"force": "true"} if force else {}
    return await widgets.server.apply(f"{widgets.crd}/status", body, manager=manager, **options)


def _types(answer: Answer) -> list[str]:
    assert answer.status == 200, answer
    return [condition["type"] for condition in answer.body["status"]["conditions"]]


async def test_a_manager_sees_to_its_own_conditions_only(widgets: Widgets) -> None:
    both = await _apply(widgets, "espalier", _condition("x.dev/A"), _condition("x.dev/B"))
    fewer = await _apply(widgets, "espalier", _condition("x.dev/A"))
    other = await _apply(widgets, "structural", _condition("x.dev/C"))
    none = await _apply(widgets, "espalier")

    servers = ["NamesAccepted", "Established"]
    assert _types(both) == [*servers, "x.dev/A", "x.dev/B"]
    assert _types(fewer) == [*servers, "x.dev/A"]
    assert _types(other) == [*servers, "x.dev/A", "x.dev/C"]
    assert _types(none) == [*servers, "x.dev/C"]
    assert none.body["status"]["storedVersions"] == ["v1alpha1"]
    assert none.body["metadata"]["generation"] == 1


async def test_the_fields_of_an_applied_condition_are_owned(widgets: Widgets) -> None:
    answer = await _apply(widgets, "espalier", _condition("x.dev/A"))

    entry = answer.body["metadata"]["managedFields"][0]
    del entry["time"]
    owned: Object = {
        key: {}
        for key in (".", "f:lastTransitionTime", "f:message", "f:reason", "f:status", "f:type")
    }
    assert entry == {
        "manager": "espalier",
        "operation": "Apply",
        "apiVersion": "apiextensions.k8s.io/v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:status": {"f:conditions": {'k:{"type":"x.dev/A"}': owned}}},
        "subresource": "status",
    }


async def test_another_value_of_an_owned_field_conflicts_and_the_same_does_not(
    widgets: Widgets,
) -> None:
    await _apply(widgets, "espalier", _condition("x.dev/A"))

    refused = await _apply(widgets, "other", _condition("x.dev/A", "False"), force=False)
    shared = await _apply(widgets, "other", _condition("x.dev/A"), force=False)
    left = await _apply(widgets, "espalier")
    gone = await _apply(widgets, "other")

    field = '.status.conditions[type="x.dev/A"].status'
    who = 'conflict with "espalier" with subresource "status"'
    assert refused.failure == (
        409,
        "Conflict",
        f"Apply failed with 1 conflict: {who}: {field}",
    )
    assert refused.body["details"] == {
        "causes": [{"reason": "FieldManagerConflict", "message": who, "field": field}]
    }
    assert "x.dev/A" in _types(shared)
    assert "x.dev/A" in _types(left)
    assert "x.dev/A" not in _types(gone)


async def test_an_apply_that_changes_nothing_writes_nothing(widgets: Widgets) -> None:
    first = await _apply(widgets, "espalier", _condition("x.dev/A"))
    second = await _apply(widgets, "espalier", _condition("x.dev/A"))

    assert second.body == first.body


async def test_an_apply_with_another_uid_is_refused(widgets: Widgets) -> None:
    body = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": widgets.name, "uid": OTHER_UID},
        "status": {"conditions": []},
    }

    answer = await widgets.server.apply(f"{widgets.crd}/status", body, manager="espalier")

    assert answer.failure == (
        422,
        "Invalid",
        (
            f'CustomResourceDefinition.apiextensions.k8s.io "{widgets.name}" is invalid: '
            f'metadata.uid: Invalid value: "{OTHER_UID}": field is immutable'
        ),
    )


async def test_applying_objects(widgets: Widgets) -> None:
    server, path = widgets.server, widgets.path("a")
    await widgets.create("a", spec={"size": 1, "gone": "x"})
    wanted = widgets.widget("a", spec={"size": 5})

    refused = await server.apply(path, wanted, manager="m")
    forced = await server.apply(path, wanted, manager="m", force="true")
    again = await server.apply(path, wanted, manager="m", force="true")
    nothing = await server.apply(path, widgets.widget("a"), manager="m")

    who = f'conflict with "author" using {widgets.group}/v1alpha1'
    assert refused.failure == (
        409,
        "Conflict",
        f"Apply failed with 1 conflict: {who}: .spec.size",
    )
    assert forced.body["spec"] == {"size": 5, "gone": "x"}
    assert forced.body["metadata"]["generation"] == 2
    assert {
        entry["manager"]: (entry["operation"], entry["fieldsV1"])
        for entry in forced.body["metadata"]["managedFields"]
    } == {
        "m": ("Apply", {"f:spec": {"f:size": {}}}),
        "author": ("Update", {"f:spec": {".": {}, "f:gone": {}}}),
    }
    assert again.body == forced.body
    assert nothing.body["spec"] == {"gone": "x"}
    assert [e["manager"] for e in nothing.body["metadata"]["managedFields"]] == ["author"]


async def test_an_apply_creates_without_the_status(widgets: Widgets) -> None:
    body = widgets.widget("new", spec={"size": 5}, status={"phase": "q"})
    body["metadata"]["labels"] = {"l": "1"}

    answer = await widgets.server.apply(widgets.path("new"), body, manager="m")

    assert answer.status == 201
    assert "status" not in answer.body
    assert [
        (entry["operation"], entry["fieldsV1"])
        for entry in answer.body["metadata"]["managedFields"]
    ] == [("Apply", {"f:metadata": {"f:labels": {"f:l": {}}}, "f:spec": {"f:size": {}}})]


async def test_managed_fields_can_be_reset(widgets: Widgets) -> None:
    server, path = widgets.server, widgets.path("a")
    await widgets.create("a", spec={"size": 1})

    reset = await server.merge(path, {"metadata": {"managedFields": [{}]}})
    later = await server.merge(path, {"spec": {"size": 2}})
    kept = await server.call(
        "PATCH", path, {"metadata": {"managedFields": None}}, content_type=MERGE
    )

    assert "managedFields" not in reset["metadata"]
    assert "managedFields" not in later["metadata"]
    assert kept.status == 200
