"""
What is stored, when it is written anew, and what a write that changes nothing does.
"""

import json

from tests.contract.server import MERGE, METADATA, Object, eventually
from tests.contract.widgets import NEW, Widgets, definition, establish, version

JUNK: Object = {
    "metadata": {
        "name": "raw",
        "namespace": "default",
        "uid": "5d4d1a0e-7b0f-4a5b-9f0d-0a5b5a0f3c11",
        "labels": {"a": 1},
        "junk": 2,
        "annotations": {"k": "v"},
    },
    "spec": {"size": 1, "junk": 1, "note": None},
}


async def _rewrite(widgets: Widgets, name: str, *, version: str = "v1") -> Object:
    path = widgets.path(name, version=version)
    metadata = (await widgets.server.get(path))["metadata"]
    guards = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
    answer = await widgets.server.call(
        "PATCH",
        path,
        {"metadata": guards},
        content_type=MERGE,
        accept=METADATA,
        fieldManager="espalier",
    )
    assert answer.status == 200, answer
    assert answer.body["kind"] == "PartialObjectMetadata"
    rewritten: Object = answer.body["metadata"]
    return rewritten


async def test_a_patch_that_changes_nothing_writes_nothing_to_normal_bytes(
    widgets: Widgets,
) -> None:
    made = await widgets.create("a", spec={"size": 1, "gone": "x"})

    assert await _rewrite(widgets, "a", version="v1alpha1") == made["metadata"]


async def test_a_storage_flip_reaches_objects_only_with_a_write(widgets: Widgets) -> None:
    made = await widgets.create("a", spec={"size": 1, "gone": "x"})
    await widgets.flip()

    before = widgets.server.stored(widgets.key("a"))
    rewritten = await _rewrite(widgets, "a")
    after = widgets.server.stored(widgets.key("a"))

    assert before["apiVersion"] == f"{widgets.group}/v1alpha1"
    assert before["spec"] == {"size": 1, "gone": "x"}
    assert after["apiVersion"] == f"{widgets.group}/v1"
    assert after["spec"] == {"size": 1, "color": "red"}
    assert rewritten["resourceVersion"] != made["metadata"]["resourceVersion"]
    # A default that only the new version has is a change of the content, and nobody owns it.
    assert rewritten["generation"] == 2
    assert rewritten["managedFields"] == made["metadata"]["managedFields"]
    assert await _rewrite(widgets, "a") == rewritten


async def test_without_new_defaults_a_rewrite_keeps_the_generation(widgets: Widgets) -> None:
    made = await widgets.create("a", spec={"size": 1, "gone": "x"})
    await widgets.flip()

    rewritten = await _rewrite(widgets, "a", version="v1alpha1")

    assert rewritten["generation"] == 1
    assert rewritten["managedFields"] == made["metadata"]["managedFields"]
    stored = widgets.server.stored(widgets.key("a"))
    assert stored["apiVersion"] == f"{widgets.group}/v1"
    assert stored["spec"] == {"size": 1}


async def test_reads_fill_in_the_defaults_of_the_stored_version_only(widgets: Widgets) -> None:
    await widgets.create("a", spec={"size": 1})
    await widgets.flip()

    assert (await widgets.server.get(widgets.path("a", version="v1")))["spec"] == {"size": 1}
    await widgets.create("b", version="v1alpha1", spec={"size": 2})
    read = await widgets.server.get(widgets.path("b", version="v1"))
    assert read["spec"] == {"size": 2, "color": "red"}
    assert widgets.server.stored(widgets.key("b"))["spec"] == {"size": 2}


async def test_stored_bytes_out_of_form_are_read_in_form_and_written_so(widgets: Widgets) -> None:
    await widgets.flip()
    raw = {"apiVersion": f"{widgets.group}/v1", "kind": "Widget", **JUNK}
    widgets.server.raw.raw_put(widgets.key("raw"), json.dumps(raw).encode())

    read = await widgets.server.get(widgets.path("raw", version="v1"))
    await _rewrite(widgets, "raw")
    after = widgets.server.stored(widgets.key("raw"))

    normal = {
        "apiVersion": f"{widgets.group}/v1",
        "kind": "Widget",
        "metadata": {
            "annotations": {"k": "v"},
            "generation": 1,
            "name": "raw",
            "namespace": "default",
            "uid": JUNK["metadata"]["uid"],
        },
        "spec": {"color": "red", "size": 1},
    }
    del read["metadata"]["resourceVersion"]
    assert read == normal
    assert after == normal


async def test_a_new_default_is_read_at_once_and_stored_with_a_write(widgets: Widgets) -> None:
    await widgets.create("a", spec={"size": 1})
    crd = await widgets.server.get(widgets.crd)
    properties = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    properties["spec"]["properties"]["late"] = {"type": "string", "default": "d"}
    assert (await widgets.server.call("PUT", widgets.crd, crd)).status == 200
    await _wait_for(widgets, {"size": 1, "late": "d"})

    before = widgets.server.stored(widgets.key("a"))
    rewritten = await _rewrite(widgets, "a", version="v1alpha1")
    after = widgets.server.stored(widgets.key("a"))

    assert before["spec"] == {"size": 1}
    assert after["spec"] == {"size": 1, "late": "d"}
    assert rewritten["generation"] == 1


async def test_a_dropped_field_stays_stored_until_a_write(widgets: Widgets) -> None:
    made = await widgets.create("a", spec={"size": 1, "gone": "x"})
    crd = await widgets.server.get(widgets.crd)
    properties = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    del properties["spec"]["properties"]["gone"]
    assert (await widgets.server.call("PUT", widgets.crd, crd)).status == 200
    await _wait_for(widgets, {"size": 1})

    before = widgets.server.stored(widgets.key("a"))
    rewritten = await _rewrite(widgets, "a", version="v1alpha1")

    assert before["spec"] == {"size": 1, "gone": "x"}
    assert widgets.server.stored(widgets.key("a"))["spec"] == {"size": 1}
    assert rewritten["generation"] == 1
    assert rewritten["managedFields"] == made["metadata"]["managedFields"]


async def _wait_for(widgets: Widgets, spec: Object) -> None:
    async def probe() -> bool:
        answer = await widgets.server.call("GET", widgets.path("a"))
        return answer.status == 200 and answer.body["spec"] == spec

    await eventually(probe)


async def test_generation_counts_changes_of_content_only(widgets: Widgets) -> None:
    server, path = widgets.server, widgets.path("a")
    await widgets.create("a", spec={"size": 1})

    async def generation(patch: Object, subresource: str = "") -> int:
        patched = await server.merge(f"{path}{subresource}", patch)
        found: int = patched["metadata"]["generation"]
        return found

    assert await generation({"metadata": {"labels": {"x": "y"}}}) == 1
    assert await generation({"status": {"phase": "no"}}) == 1
    assert await generation({"status": {"phase": "yes"}}, "/status") == 1
    assert await generation({"spec": {"size": 2}}) == 2
    assert await generation({"spec": {"size": 2}}) == 2
    assert await generation({"metadata": {"generation": 77}}) == 2


async def test_the_status_endpoint_changes_the_status_alone(widgets: Widgets) -> None:
    server, path = widgets.server, widgets.path("a")
    await widgets.create("a", spec={"size": 1})

    ignored = await server.merge(path, {"status": {"phase": "no"}})
    patched = await server.merge(
        f"{path}/status",
        {
            "status": {"phase": "s", "junk": 1},
            "spec": {"size": 9},
            "metadata": {"labels": {"z": "q"}},
        },
        fieldManager="keeper",
    )

    assert "status" not in ignored
    assert patched["status"] == {"phase": "s"}
    assert patched["spec"] == {"size": 1}
    assert "labels" not in patched["metadata"]
    assert {
        entry["manager"]: (entry.get("subresource"), entry["fieldsV1"])
        for entry in patched["metadata"]["managedFields"]
    } == {
        "author": (None, {"f:spec": {".": {}, "f:size": {}}}),
        "keeper": ("status", {"f:status": {".": {}, "f:phase": {}}}),
    }


async def test_without_a_status_subresource_the_status_is_content(widgets: Widgets) -> None:
    server = widgets.server
    crd = definition(f"plain.{server.group}", version("v1", NEW, storage=True, status=False))
    await establish(server, crd)
    path = f"/apis/plain.{server.group}/v1/namespaces/default/widgets"
    body = {
        "apiVersion": f"plain.{server.group}/v1",
        "kind": "Widget",
        "metadata": {"name": "a"},
        "status": {"phase": "p"},
    }

    made = await server.post(path, body)
    patched = await server.merge(f"{path}/a", {"status": {"phase": "q"}})

    assert made["status"] == {"phase": "p"}
    assert patched["status"] == {"phase": "q"}
    assert patched["metadata"]["generation"] == 2
    missing = await server.call("GET", f"{path}/a/status")
    assert missing.failure == (404, "NotFound", f'widgets.plain.{server.group} "a" not found')


async def test_updates_move_fields_between_managers(widgets: Widgets) -> None:
    server, path = widgets.server, widgets.path("a")
    await widgets.create("a", spec={"size": 1, "gone": "x"})

    await server.merge(path, {"spec": {"size": 2}}, fieldManager="b")
    patched = await server.merge(path, {"metadata": {"labels": {"x": "y"}}}, fieldManager="b")

    assert {
        entry["manager"]: entry["fieldsV1"] for entry in patched["metadata"]["managedFields"]
    } == {
        "author": {"f:spec": {".": {}, "f:gone": {}}},
        "b": {"f:metadata": {"f:labels": {".": {}, "f:x": {}}}, "f:spec": {"f:size": {}}},
    }


async def test_broken_bytes(widgets: Widgets) -> None:
    server, key = widgets.server, widgets.key("broken")
    server.raw.raw_put(key, b"{nope")

    answers = [
        await server.call("GET", widgets.path("broken")),
        await server.call("DELETE", widgets.path("broken")),
    ]
    server.raw.raw_put(key, json.dumps(widgets.widget("broken", version="v0")).encode())
    answers.append(await server.call("GET", widgets.path("broken")))

    shown = key.removeprefix("/registry")
    for answer in answers:
        assert answer.status == 500
        assert answer.body["reason"] == "InternalError"
        assert answer.body["message"].startswith(
            f"Internal error occurred: StorageError: corrupt object, Code: 7, Key: {shown}, "
            "ResourceVersion: 0, AdditionalErrorMsg: object not decodable revision="
        )
    assert (
        answers[2]
        .body["message"]
        .endswith(f"request to convert CR from an invalid group/version: {widgets.group}/v0")
    )
