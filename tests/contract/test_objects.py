"""
Answers on single objects, with the API server's texts.
"""

from tests.contract.server import JSON_PATCH, MERGE, METADATA, OTHER_UID
from tests.contract.widgets import Widgets

MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def _sets(managed_fields: list[dict[str, object]]) -> list[tuple[object, ...]]:
    return [
        (entry["manager"], entry["operation"], entry.get("subresource"), entry["fieldsV1"])
        for entry in managed_fields
    ]


async def test_a_new_object_is_pruned_and_gets_metadata(widgets: Widgets) -> None:
    made = await widgets.create(
        "a", spec={"size": 1, "gone": "x", "junk": 2}, status={"phase": "p"}
    )

    metadata = made.pop("metadata")
    assert made == {
        "apiVersion": f"{widgets.group}/v1alpha1",
        "kind": "Widget",
        "spec": {"gone": "x", "size": 1},
    }
    assert metadata["name"] == "a"
    assert metadata["namespace"] == "default"
    assert metadata["generation"] == 1
    assert metadata["uid"]
    assert int(metadata["resourceVersion"]) > 0
    assert _sets(metadata["managedFields"]) == [
        ("author", "Update", None, {"f:spec": {".": {}, "f:gone": {}, "f:size": {}}})
    ]


async def test_the_stored_bytes_are_what_was_answered_without_its_resource_version(
    widgets: Widgets,
) -> None:
    made = await widgets.create("a", spec={"size": 1, "gone": "<&>"})

    del made["metadata"]["resourceVersion"]
    assert widgets.server.stored(widgets.key("a")) == made
    value = widgets.server.raw.raw_get(widgets.key("a"))
    assert value is not None
    assert value.endswith(b'"spec":{"gone":"\\u003c\\u0026\\u003e","size":1}}\n')


async def test_reading_at_another_version_converts_and_prunes(widgets: Widgets) -> None:
    await widgets.create("a", spec={"size": 1, "gone": "x"})

    read = await widgets.server.get(widgets.path("a", version="v1"))

    assert read["apiVersion"] == f"{widgets.group}/v1"
    assert read["spec"] == {"size": 1}


async def test_defaults_and_nulls_on_a_write(widgets: Widgets) -> None:
    await widgets.flip()
    body = widgets.widget("n", version="v1", spec={"size": 1, "note": None, "color": None})
    body["metadata"] |= {
        "labels": {},
        "junk": 1,
        "annotations": None,
        "creationTimestamp": "2020-01-01T00:00:00Z",
        "generation": 9,
        "uid": "x",
    }

    made = await widgets.server.post(
        widgets.path(version="v1"), {**body, "other": 1}, fieldManager="author"
    )

    assert made["spec"] == {"color": "red", "size": 1}
    assert "other" not in made
    assert made["metadata"]["generation"] == 1
    assert made["metadata"]["creationTimestamp"] > "2020-01-01T00:00:00Z"
    assert made["metadata"].keys() == {
        "creationTimestamp",
        "generation",
        "managedFields",
        "name",
        "namespace",
        "resourceVersion",
        "uid",
    }


async def test_a_name_is_made_from_generate_name(widgets: Widgets) -> None:
    body = {**widgets.widget("x"), "metadata": {"generateName": "g-"}}

    made = await widgets.server.post(widgets.path(), body)

    assert made["metadata"]["name"].startswith("g-")
    assert len(made["metadata"]["name"]) == 7


async def test_metadata_alone_can_be_asked_for(widgets: Widgets) -> None:
    made = await widgets.create("a", spec={"size": 1})

    answer = await widgets.server.call("GET", widgets.path("a"), accept=METADATA)

    assert answer.body == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": made["metadata"],
    }


async def test_json_patches(widgets: Widgets) -> None:
    await widgets.create("a", spec={"size": 2})

    async def patch(*operations: dict[str, object]) -> tuple[int, object]:
        answer = await widgets.server.call(
            "PATCH", widgets.path("a"), list(operations), content_type=JSON_PATCH
        )
        return answer.status, answer.body.get("spec", answer.body.get("message"))

    refused = "the server rejected our request due to an error in our request"
    assert await patch({"op": "test", "path": "/spec/size", "value": 99}) == (422, refused)
    assert await patch({"op": "remove", "path": "/spec/nope"}) == (422, refused)
    assert await patch(
        {"op": "test", "path": "/spec/size", "value": 2},
        {"op": "replace", "path": "/spec/size", "value": 3},
        {"op": "add", "path": "/spec/gone", "value": "x"},
    ) == (200, {"size": 3, "gone": "x"})


async def test_deletes(widgets: Widgets) -> None:
    server = widgets.server
    made = await widgets.create("a")
    uid, revision = made["metadata"]["uid"], made["metadata"]["resourceVersion"]

    refused = [
        await server.call("DELETE", widgets.path("a"), {"preconditions": preconditions})
        for preconditions in ({"uid": OTHER_UID}, {"resourceVersion": "1"})
    ]
    done = await server.call("DELETE", widgets.path("a"))

    widget = f'Operation cannot be fulfilled on Widget.{widgets.group} "a"'
    assert [answer.failure for answer in refused] == [
        (
            409,
            "Conflict",
            (
                f"{widget}: the UID in the precondition ({OTHER_UID}) does not match the UID in "
                f"record ({uid}). The object might have been deleted and then recreated"
            ),
        ),
        (
            409,
            "Conflict",
            (
                f"{widget}: the ResourceVersion in the precondition (1) does not match the "
                f"ResourceVersion in record ({revision}). The object might have been modified"
            ),
        ),
    ]
    assert done.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {"name": "a", "group": widgets.group, "kind": "widgets", "uid": uid},
    }
    assert server.raw.raw_get(widgets.key("a")) is None


async def test_finalizers_hold_an_object(widgets: Widgets) -> None:
    server, path = widgets.server, widgets.path("a")
    await widgets.create("a", spec={"size": 1})
    await server.merge(path, {"metadata": {"finalizers": ["x.com/y"]}})

    marked = (await server.call("DELETE", path)).body
    refused = await server.call(
        "PATCH", path, {"metadata": {"finalizers": ["x.com/y", "x.com/z"]}}, content_type=MERGE
    )
    await server.merge(path, {"metadata": {"finalizers": None}})

    assert marked["metadata"]["deletionTimestamp"]
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 0
    assert marked["metadata"]["generation"] == 2
    assert refused.failure == (
        422,
        "Invalid",
        (
            f'Widget.{widgets.group} "a" is invalid: metadata.finalizers: Forbidden: no new '
            "finalizers can be added if the object is being deleted, found new finalizers "
            '[]string{"x.com/z"}'
        ),
    )
    assert (await server.call("GET", path)).status == 404


async def test_a_dry_run_stores_nothing(widgets: Widgets) -> None:
    server = widgets.server
    made = await widgets.create("a", spec={"size": 1})
    before = server.raw.raw_get(widgets.key("a"))

    patched = await server.merge(widgets.path("a"), {"spec": {"size": 7}}, dryRun="All")
    created = await server.post(widgets.path(), widgets.widget("b"), dryRun="All")
    refused = await server.call("PATCH", widgets.path("a"), {}, content_type=MERGE, dryRun="x")

    assert patched["spec"] == {"size": 7}
    assert patched["metadata"]["generation"] == 2
    assert patched["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    assert "resourceVersion" not in created["metadata"]
    assert server.raw.raw_get(widgets.key("a")) == before
    assert server.raw.raw_get(widgets.key("b")) is None
    assert refused.failure == (
        422,
        "Invalid",
        (
            'PatchOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["x"]: supported '
            'values: "All"'
        ),
    )
