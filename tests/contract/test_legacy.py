"""
Definitions as a cluster that was upgraded from v1beta1 holds them, put straight into the store.
"""

import json
import uuid

from tests.contract.server import MERGE, Object, Server, eventually
from tests.contract.widgets import Widgets, served


def legacy(group: str, schema: Object | None, *, preserve: bool) -> Object:
    """
    Make a definition as a cluster that was upgraded from v1beta1 holds it.
    """
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    spec: Object = {
        "group": group,
        "version": "v1",
        "scope": "Namespaced",
        "names": names,
        "versions": [{"name": "v1", "served": True, "storage": True}],
        "preserveUnknownFields": preserve,
        "conversion": {"strategy": "None"},
    }
    if schema is not None:
        spec["validation"] = {"openAPIV3Schema": schema}
    long_ago = {"status": "True", "lastTransitionTime": "2019-01-01T00:00:00Z"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1beta1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"widgets.{group}",
            "uid": str(uuid.uuid4()),
            "creationTimestamp": "2019-01-01T00:00:00Z",
            "generation": 1,
        },
        "spec": spec,
        "status": {
            "conditions": [
                {"type": "NamesAccepted", "reason": "NoConflicts", "message": "", **long_ago},
                {"type": "Established", "reason": "Accepted", "message": "", **long_ago},
            ],
            "acceptedNames": names,
            "storedVersions": ["v1"],
        },
    }


async def _put_raw(server: Server, crd: Object) -> Widgets:
    name = crd["metadata"]["name"]
    server.created.append(name)
    key = f"/registry/apiextensions.k8s.io/customresourcedefinitions/{name}"
    server.raw.raw_put(key, json.dumps(crd).encode())
    await served(server, crd)
    return Widgets(server=server)


async def _nonstructural(widgets: Widgets) -> Object:
    async def probe() -> Object | None:
        crd = await widgets.server.get(widgets.crd)
        conditions = crd["status"]["conditions"]
        return next((c for c in conditions if c["type"] == "NonStructuralSchema"), None)

    return await eventually(probe)


SIZED: Object = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}},
}


async def test_objects_of_a_legacy_definition_keep_what_is_not_specified(server: Server) -> None:
    widgets = await _put_raw(server, legacy(server.group, SIZED, preserve=True))
    content: Object = {
        "spec": {"size": 1, "junk": None, "deep": {"x": 1}},
        "other": 1,
        "status": {"a": 1},
    }

    made = await widgets.create("a", version="v1", **content)
    condition = await _nonstructural(widgets)
    noop = await server.merge(
        widgets.path("a", version="v1"), {"metadata": {"uid": made["metadata"]["uid"]}}
    )
    pruned = {key: value for key, value in made.items() if key != "other"}
    pruned["spec"] = {"size": 1, "junk": None}
    put = await server.call("PUT", widgets.path("a", version="v1"), pruned, fieldManager="espalier")
    labelled = await server.merge(widgets.crd, {"metadata": {"labels": {"a": "b"}}})

    assert {key: made[key] for key in content} == content
    assert (condition["status"], condition["reason"], condition["message"]) == (
        "True",
        "Violations",
        "spec.preserveUnknownFields: Invalid value: true: must be false",
    )
    assert noop["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    assert put.body["spec"] == {"size": 1, "junk": None}
    assert put.body["metadata"]["generation"] == 2
    assert [(e["manager"], e["fieldsV1"]) for e in put.body["metadata"]["managedFields"]] == [
        (
            "author",
            {
                "f:spec": {".": {}, "f:junk": {}, "f:size": {}},
                "f:status": {".": {}, "f:a": {}},
            },
        )
    ]
    assert labelled["spec"]["preserveUnknownFields"] is True


async def test_a_nonstructural_definition_prunes_and_refuses_updates(server: Server) -> None:
    schema = {"properties": {"spec": {"properties": {"size": {"type": "integer"}}}}}
    widgets = await _put_raw(server, legacy(server.group, schema, preserve=False))

    condition = await _nonstructural(widgets)
    made = await widgets.create("a", version="v1", spec={"size": 1, "deep": {"x": 1}}, other=1)
    refused = await server.call(
        "PATCH", widgets.crd, {"metadata": {"labels": {"a": "b"}}}, content_type=MERGE
    )

    texts = "{0}.properties[spec].type: {1} specified object fields, {0}.type: {2} at the root"
    required = "Required value: must not be empty"
    written = texts.format("{}", f"{required} for", required)
    assert condition["message"] == (
        f"[{written.replace('{}', 'spec.versions[0].schema.openAPIV3Schema')}]"
    )
    assert made["spec"] == {"size": 1}
    assert "other" not in made
    assert refused.failure == (
        422,
        "Invalid",
        (
            f'CustomResourceDefinition.apiextensions.k8s.io "{widgets.name}" is invalid: '
            f"[{written.replace('{}', 'spec.validation.openAPIV3Schema')}]"
        ),
    )


async def test_a_legacy_definition_without_a_schema_takes_labels(server: Server) -> None:
    widgets = await _put_raw(server, legacy(server.group, None, preserve=True))

    labelled = await server.merge(widgets.crd, {"metadata": {"labels": {"a": "b"}}})

    assert labelled["spec"]["versions"] == [{"name": "v1", "served": True, "storage": True}]
    assert labelled["metadata"]["generation"] == 1


async def test_the_condition_goes_when_pruning_is_turned_on(server: Server) -> None:
    widgets = await _put_raw(server, legacy(server.group, SIZED, preserve=True))
    await widgets.create("a", version="v1", spec={"size": 1, "junk": 2})
    await _nonstructural(widgets)

    turned = await server.merge(widgets.crd, {"spec": {"preserveUnknownFields": False}})

    async def probe() -> bool:
        crd = await server.get(widgets.crd)
        types = [condition["type"] for condition in crd["status"]["conditions"]]
        read = await server.get(widgets.path("a", version="v1"))
        return types == ["NamesAccepted", "Established"] and read["spec"] == {"size": 1}

    await eventually(probe)
    assert turned["metadata"]["generation"] == 2
    assert server.stored(widgets.key("a"))["spec"] == {"size": 1, "junk": 2}
