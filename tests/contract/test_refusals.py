"""
What is refused, and in which words.
"""

import pytest

from tests.contract.server import APPLY, MERGE, OTHER_UID, Object, Server
from tests.contract.widgets import Widgets

MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


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


async def test_apply_refusals(widgets: Widgets) -> None:
    server: Server = widgets.server
    path = widgets.path("a")
    await widgets.create("a", spec={"size": 1})
    widget = widgets.widget("a")

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


async def test_an_apply_names_its_manager(widgets: Widgets) -> None:
    await widgets.create("a")

    anonymous = await widgets.server.call(
        "PATCH", widgets.path("a"), widgets.widget("a"), content_type=APPLY
    )

    assert anonymous.failure == (
        422,
        "Invalid",
        (
            'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for '
            "apply patch"
        ),
    )


async def test_an_object_that_is_gone_is_distinguished_from_a_resource_that_is_not_served(
    widgets: Widgets,
) -> None:
    await widgets.create("there", spec={"size": 1})
    patch: Object = {"metadata": {"uid": "00000000-0000-0000-0000-000000000000"}}
    gone = widgets.path("gone", version="v1")
    unserved = widgets.path("there", version="v7")
    for method, body in (("GET", None), ("PATCH", patch)):
        of_object = await widgets.server.call(method, gone, body, content_type=MERGE)
        of_resource = await widgets.server.call(method, unserved, body, content_type=MERGE)
        assert (of_object.status, of_resource.status) == (404, 404)
        assert of_object.body["details"]["name"] == "gone"
        if isinstance(of_resource.body, dict):
            assert not (of_resource.body.get("details") or {}).get("name")
