"""
Answers on single objects, with the API server's texts.
"""

import pytest

from tests.contract.server import APPLY, JSON_PATCH, MERGE, METADATA, OTHER_UID, Object, Server
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


@pytest.mark.parametrize(
    ("name", "change", "expected"),
    [
        ("again", {}, (409, "AlreadyExists", 'widgets.{group} "again" already exists')),
        (
            "a",
            {"kind": "Foo"},
            (
                422,
                "Invalid",
                'Foo.{group} "a" is invalid: kind: Invalid value: "Foo": must be Widget',
            ),
        ),
        (
            "a",
            {"apiVersion": "{group}/v1"},
            (
                400,
                "BadRequest",
                (
                    "the API version in the data ({group}/v1) does not match the expected API "
                    "version ({group}/v1alpha1)"
                ),
            ),
        ),
        (
            "a",
            {"metadata": {}},
            (
                422,
                "Invalid",
                (
                    'Widget.{group} "" is invalid: metadata.name: Required value: name or '
                    "generateName is required"
                ),
            ),
        ),
        (
            "a",
            {"metadata": {"name": "a", "resourceVersion": "5"}},
            (500, "", "resourceVersion should not be set on objects to be created"),
        ),
        (
            "a",
            {"metadata": {"name": "a", "namespace": "other"}},
            (
                400,
                "BadRequest",
                (
                    "the namespace of the provided object does not match the namespace sent on the "
                    "request"
                ),
            ),
        ),
    ],
)
async def test_a_create_is_refused(
    widgets: Widgets,
    name: str,
    change: dict[str, object],
    expected: tuple[int, str, str],
) -> None:
    await widgets.create("again")
    filled = {
        key: value.replace("{group}", widgets.group) if isinstance(value, str) else value
        for key, value in change.items()
    }

    answer = await widgets.server.call("POST", widgets.path(), {**widgets.widget(name), **filled})

    status, reason, message = expected
    assert answer.failure == (status, reason, message.replace("{group}", widgets.group))


async def test_a_namespace_must_exist(widgets: Widgets) -> None:
    path = widgets.path().replace("/default/", "/nowhere/")

    answer = await widgets.server.call("POST", path, widgets.widget("a"))

    assert answer.failure == (404, "NotFound", 'namespaces "nowhere" not found')
    assert answer.body["details"] == {"name": "nowhere", "kind": "namespaces"}


async def test_what_is_not_there(widgets: Widgets) -> None:
    server = widgets.server
    missing = f'widgets.{widgets.group} "zz" not found'

    for method, content_type in (("GET", ""), ("DELETE", ""), ("PATCH", MERGE)):
        body: Object | None = {} if method == "PATCH" else None
        answer = await server.call(method, widgets.path("zz"), body, content_type=content_type)
        assert answer.failure == (404, "NotFound", missing)
        assert answer.body["details"] == {
            "name": "zz",
            "group": widgets.group,
            "kind": "widgets",
        }
    for path in (widgets.path(version="v9"), widgets.path().replace("widgets", "wodgets")):
        assert await server.call("GET", path) == (404, "404 page not found\n")


async def test_put_refusals(widgets: Widgets) -> None:
    server, path = widgets.server, widgets.path("a")
    made = await widgets.create("a", spec={"size": 1})
    stale = {**made["metadata"], "resourceVersion": "1"}
    other = {**made["metadata"], "uid": OTHER_UID}

    answers = [
        await server.call("PUT", path, {**made, "metadata": metadata})
        for metadata in ({"name": "b"}, {"name": "a"}, stale, other)
    ]

    widget = f'widgets.{widgets.group} "a"'
    assert [answer.failure for answer in answers] == [
        (400, "BadRequest", "the name of the object (b) does not match the name on the URL (a)"),
        (
            422,
            "Invalid",
            (
                f"{widget} is invalid: metadata.resourceVersion: Invalid value: 0: must be "
                "specified for an update"
            ),
        ),
        (409, "Conflict", f"Operation cannot be fulfilled on {widget}: {MODIFIED}"),
        (
            409,
            "Conflict",
            (
                f"Operation cannot be fulfilled on {widget}: StorageError: invalid object, "
                f"Code: 4, Key: {widgets.key('a')}, ResourceVersion: 0, AdditionalErrorMsg: "
                f"Precondition failed: UID in precondition: {OTHER_UID}, UID in object meta: "
                f"{made['metadata']['uid']}"
            ),
        ),
    ]


async def test_merge_patch_refusals(widgets: Widgets) -> None:
    await widgets.create("a")
    patches = [
        {"metadata": {"resourceVersion": "1"}},
        {"metadata": {"uid": OTHER_UID}},
        {"metadata": {"resourceVersion": "abc"}},
        {"metadata": {"name": "b"}},
        [1],
    ]

    answers = [
        await widgets.server.call("PATCH", widgets.path("a"), patch, content_type=MERGE)
        for patch in patches
    ]

    conflict = f'Operation cannot be fulfilled on widgets.{widgets.group} "a": {MODIFIED}'
    immutable = f'metadata.uid: Invalid value: "{OTHER_UID}": field is immutable'
    assert [answer.failure for answer in answers] == [
        (409, "Conflict", conflict),
        (422, "Invalid", f'Widget.{widgets.group} "a" is invalid: {immutable}'),
        (500, "", 'strconv.ParseUint: parsing "abc": invalid syntax'),
        (400, "BadRequest", "the name of the object (b) does not match the name on the URL (a)"),
        (
            400,
            "BadRequest",
            (
                "error decoding patch: json: cannot unmarshal array into Go value of type "
                "map[string]interface {}"
            ),
        ),
    ]
    cause = {
        "reason": "FieldValueInvalid",
        "message": f'Invalid value: "{OTHER_UID}": field is immutable',
        "field": "metadata.uid",
    }
    assert answers[1].body["details"]["causes"] == [cause, cause]


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


async def test_an_unknown_kind_of_patch(widgets: Widgets) -> None:
    await widgets.create("a")

    answer = await widgets.server.call("PATCH", widgets.path("a"), {}, content_type="text/plain")

    assert answer.failure == (
        415,
        "UnsupportedMediaType",
        (
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json-patch+json, application/merge-patch+json, "
            "application/apply-patch+yaml"
        ),
    )


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


async def test_apply_refusals(widgets: Widgets) -> None:
    server: Server = widgets.server
    path = widgets.path("a")
    await widgets.create("a", spec={"size": 1})
    widget = widgets.widget("a")

    anonymous = await server.call("PATCH", path, widget, content_type=APPLY)
    answers = [
        await server.apply(path, {**widget, **change}, manager="m", force="true")
        for change in (
            {"spec": {"junk": 5}},
            {"metadata": {"name": "a", "managedFields": [{}]}},
            {"metadata": {"name": "a", "uid": OTHER_UID}},
            {"metadata": {"name": "a", "resourceVersion": "1"}},
        )
    ]
    absent = {**widget, "metadata": {"name": "b", "uid": OTHER_UID}}
    answers.append(await server.apply(widgets.path("b"), absent, manager="m"))

    group = widgets.group
    assert anonymous.failure == (
        422,
        "Invalid",
        (
            'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for '
            "apply patch"
        ),
    )
    assert [answer.failure for answer in answers] == [
        (
            500,
            "",
            (
                f"failed to create typed patch object (/a; {group}/v1alpha1, Kind=Widget): "
                ".spec.junk: field not declared in schema"
            ),
        ),
        (400, "BadRequest", "metadata.managedFields must be nil"),
        (
            422,
            "Invalid",
            (
                f'Widget.{group} "a" is invalid: metadata.uid: Invalid value: "{OTHER_UID}": field '
                "is immutable"
            ),
        ),
        (
            409,
            "Conflict",
            f'Operation cannot be fulfilled on widgets.{group} "a": {MODIFIED}',
        ),
        (
            409,
            "Conflict",
            (
                f'Operation cannot be fulfilled on widgets.{group} "b": uid mismatch: the provided '
                f"object specified uid {OTHER_UID}, and no existing object was found"
            ),
        ),
    ]
