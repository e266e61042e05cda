import base64
import json
from typing import Any

import pytest

from espalier.cluster.transport.paths import name_of
from espalier.engine.ports import ObjectKey, StoredMetadata, WritePermit
from espalier.errors import (
    ExpiredTokenError,
    RejectedError,
)
from espalier.paths import JSON
from tests.cluster.scripted import (
    WIDGETS,
    Reply,
    Script,
    connected,
    status_of,
)
from tests.fakes.permits import permit_for

A = ObjectKey("default", "a")


TOKEN = "a+/=&b"  # noqa: S105 - no password


async def test_a_metadata_page_is_a_quorum_read_of_metadata_only() -> None:
    fields: list[JSON] = [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}]
    metadata = {"name": "a", "namespace": "default", "uid": "u", "resourceVersion": "3"}
    page = {
        "metadata": {"continue": "next", "remainingItemCount": 4, "resourceVersion": "9"},
        "items": [{"metadata": metadata | {"managedFields": fields}}],
    }
    script = Script(Reply(body=page))

    async with connected(script) as cluster:
        read = await cluster.objects.list_metadata(WIDGETS, page_size=2, continue_token=TOKEN)

    (seen,) = script.seen
    assert seen.path == "/apis/example.com/v1/widgets"
    assert seen.query == {"limit": "2", "continue": TOKEN}
    assert seen.headers["Accept"] == (
        "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    )
    assert seen.headers["User-Agent"].startswith("espalier/")
    assert seen.headers["Authorization"] == "Bearer sesame"
    assert read.objects == (
        StoredMetadata(key=A, uid="u", resource_version="3", managed_fields=tuple(fields)),
    )
    assert (read.continue_token, read.remaining, read.resource_version) == ("next", 4, "9")


async def test_the_last_page_has_no_token_and_may_have_null_for_items() -> None:
    script = Script(Reply(body={"metadata": {"resourceVersion": "9"}, "items": None}))

    async with connected(script) as cluster:
        read = await cluster.objects.list_metadata(WIDGETS, page_size=2, continue_token=None)

    assert (read.objects, read.continue_token, read.remaining) == ((), None, None)
    assert script.seen[0].query == {"limit": "2"}


async def test_whole_objects_are_decoded_one_at_a_time() -> None:
    items = b'[{"metadata": {"name": "a"}, "spec": {"n": 3}}, {"metadata": 3}]'
    script = Script(Reply(body=b'{"metadata": {}, "items": ' + items + b"}"))

    async with connected(script) as cluster:
        page = await cluster.objects.list_objects(WIDGETS, page_size=2, continue_token=None)

    assert len(page.objects) == 2
    assert page.objects[0] == {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "a"},
        "spec": {"n": 3},
    }
    assert [obj["spec"] for obj in page.objects] == [{"n": 3}]
    assert list(page.unread) == ["an object without a name (an object has no metadata)"]


async def test_an_object_without_a_name_does_not_cost_its_page() -> None:
    items = b'[{"metadata": {"name": "a"}}, {"metadata": {"namespace": "ns"}}]'
    script = Script(*[Reply(body=b'{"metadata": {}, "items": ' + items + b"}")] * 2)

    async with connected(script) as cluster:
        partial = await cluster.objects.list_metadata(WIDGETS, page_size=2, continue_token=None)
        page = await cluster.objects.list_objects(WIDGETS, page_size=2, continue_token=None)

    assert [metadata.key.name for metadata in partial.objects] == ["a"]
    assert len(list(page.objects)) == 1
    assert list(partial.unread) == ["an object without a name"]
    assert list(page.unread) == ["an object without a name (an object has no name)"]


async def test_integers_of_any_length_are_the_same_at_any_depth() -> None:
    numbers = b"[9223372036854775807,9223372036854775808,-9223372036854775809,1%s,1.5,-0.0]"
    flat = numbers % (b"0" * 40)
    levels = 2_000
    contents = [flat] + [
        b"[" * levels + inside + b"]" * levels for inside in (flat, b"1e999", b"9" * 999)
    ]
    script = Script(
        *(Reply(body=b'{"metadata":{"name":"a"},"n":' + content + b"}") for content in contents)
    )

    async with connected(script) as cluster:
        shallow = (await cluster.objects.get_object(WIDGETS, A))["n"]
        deep = (await cluster.objects.get_object(WIDGETS, A))["n"]
        for _ in range(2):
            with pytest.raises(RejectedError, match="not JSON, or nested too deeply"):
                await cluster.objects.get_object(WIDGETS, A)

    for _ in range(levels):
        assert isinstance(deep, list)
        (deep,) = deep
    assert repr(deep) == repr(shallow)


async def test_integers_outside_of_64_bits_are_floats_as_in_the_server() -> None:
    body = (
        b'{"metadata": {"name": "a"}, "n": [9223372036854775807, 9223372036854775808,'
        b" -9223372036854775808, -9223372036854775809, 18446744073709551616, true],"
        b' "deep": {"x": 18446744073709551615}}'
    )
    script = Script(Reply(body=body))

    async with connected(script) as cluster:
        obj = await cluster.objects.get_object(WIDGETS, A)

    read = [(type(n), n) for n in obj["n"]]  # type: ignore[union-attr]
    assert read == [
        (int, 2**63 - 1),
        (float, 2.0**63),
        (int, -(2**63)),
        (float, -(2.0**63)),
        (float, 2.0**64),
        (bool, True),
    ]
    assert obj["deep"] == {"x": 2.0**64}


async def test_a_rewrite_changes_nothing_and_is_guarded() -> None:
    script = Script(Reply(body={"metadata": {"resourceVersion": "4"}}))

    async with connected(script) as cluster:
        version, _ = await cluster.objects.rewrite(WIDGETS, WritePermit(A, "u", "3"))

    (seen,) = script.seen
    assert version == "4"
    assert (seen.method, seen.path) == (
        "PATCH",
        "/apis/example.com/v1/namespaces/default/widgets/a",
    )
    assert seen.query == {"fieldManager": "espalier"}
    assert seen.body == {"metadata": {"uid": "u", "resourceVersion": "3"}}
    assert seen.headers["Content-Type"] == "application/merge-patch+json"
    assert seen.headers["Accept"] == "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


async def test_a_rewrite_may_leave_the_resource_version_out_and_never_the_uid() -> None:
    script = Script(Reply(body={"metadata": {"resourceVersion": "4"}}))

    async with connected(script) as cluster:
        await cluster.objects.rewrite(WIDGETS, WritePermit(A, "u", None))

    assert script.seen[0].body == {"metadata": {"uid": "u"}}


async def test_a_tried_rewrite_is_a_dry_run_that_gives_the_whole_object() -> None:
    script = Script(Reply(body={"metadata": {"name": "a"}, "spec": {}}))

    async with connected(script) as cluster:
        obj = await cluster.objects.try_rewrite(WIDGETS, A, uid="u", resource_version="3")

    assert script.seen[0].query == {"fieldManager": "espalier", "dryRun": "All"}
    assert script.seen[0].headers["Accept"] == "application/json"
    assert obj["spec"] == {}


@pytest.mark.parametrize(("subresource", "end"), [(None, ""), ("status", "/status")])
async def test_a_replacement_is_a_guarded_put(subresource: str | None, end: str) -> None:
    metadata: JSON = {"name": "a", "namespace": "default", "uid": "u", "resourceVersion": "3"}
    obj: dict[str, JSON] = {"metadata": metadata}
    script = Script(Reply(body=obj))

    async with connected(script) as cluster:
        await cluster.objects.replace(WIDGETS, obj, permit_for(obj), subresource=subresource)

    (seen,) = script.seen
    assert (seen.method, seen.body) == ("PUT", obj)
    assert seen.path == f"/apis/example.com/v1/namespaces/default/widgets/a{end}"


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        [],
        {"name": "a", "uid": "u"},
        {"name": "a", "resourceVersion": "3"},
        {"uid": "u", "resourceVersion": "3"},
        {"name": "a", "uid": "", "resourceVersion": "3"},
        {"name": "a", "uid": "u", "resourceVersion": 3},
        {"name": "a", "namespace": 3, "uid": "u", "resourceVersion": "3"},
        {"name": "..", "uid": "u", "resourceVersion": "3"},
    ],
)
async def test_an_unguarded_replacement_is_never_sent(metadata: object) -> None:
    script = Script()

    async with connected(script) as cluster:
        unguarded: dict[str, Any] = {"metadata": metadata}
        permit = WritePermit(ObjectKey("", "a"), "u", "3")
        with pytest.raises(ValueError, match=r"must not be replaced|is not a name|permit"):
            await cluster.objects.replace(WIDGETS, unguarded, permit, subresource=None)

    assert script.seen == []


async def test_an_expired_token_is_handed_on_with_the_fresh_one() -> None:
    said = status_of(410, "Expired", metadata={"continue": "fresh"})
    script = Script(Reply(410, said))

    async with connected(script) as cluster:
        with pytest.raises(ExpiredTokenError) as raised:
            await cluster.objects.list_metadata(WIDGETS, page_size=1, continue_token=TOKEN)

    assert raised.value.fresh_token == "fresh"  # noqa: S105 - no password


@pytest.mark.parametrize(
    "crd", ["widgets.example.com", "a." * 126 + "x", "w." + "b" * 63 + "." + "c" * 180]
)
def test_objects_of_ours_are_named_safely(crd: str) -> None:
    name = name_of("checkpoint", crd)

    assert len(name) <= 200
    assert name.startswith("checkpoint-")
    assert all(part and part[0] != "-" and part[-1] != "-" for part in name.split("."))


def encoded(content: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")


async def test_tokens_go_on_behind_what_no_server_can_read() -> None:
    async with connected(Script()) as cluster:
        objects = cluster.objects
        places = ["ns/a.b\0", "a\0", "ns/\x7f"]
        tokens = [objects.token_at(place) for place in places]
        assert [objects.place_of(token) for token in tokens] == places
        # As the server's cache and its storage make them, and damaged or of another time.
        for start, place in (("/ns/a\0", "ns/a\0"), ("a\0", "a\0")):
            token = encoded({"v": "meta.k8s.io/v1", "rv": 7, "start": start})
            assert objects.place_of(token) == place
        for bad in ("!", "AAAA", "", encoded({"v": "meta.k8s.io/v2", "start": "a"}), encoded([])):
            assert objects.place_of(bad) is None
    for token, place in zip(tokens, places, strict=True):
        content = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        assert content == {"v": "meta.k8s.io/v1", "rv": -1, "start": place}


async def test_namespaces_are_named_page_by_page() -> None:
    script = Script(
        Reply(body={"metadata": {"continue": "t"}, "items": [{"metadata": {"name": "a"}}]}),
        Reply(body={"metadata": {}, "items": [{"metadata": {"name": "b"}}]}),
    )
    async with connected(script) as cluster:
        assert await cluster.objects.list_namespaces() == ("a", "b")
    assert [seen.path for seen in script.seen] == ["/api/v1/namespaces"] * 2
    assert [seen.query.get("continue") for seen in script.seen] == [None, "t"]


async def test_managed_fields_are_replaced_by_a_patch_that_tests_what_was_seen() -> None:
    script = Script(Reply(body={"metadata": {}}), Reply(body={"metadata": {}}))
    async with connected(script) as cluster:
        entries: list[list[JSON]] = [[{"manager": "a"}], []]
        for left in entries:
            await cluster.objects.replace_managed_fields(
                WIDGETS, WritePermit(ObjectKey("ns", "a"), "u", "3"), managed_fields=left
            )
    first, second = script.seen
    assert first.headers["Content-Type"] == "application/json-patch+json"
    assert first.body[:2] == [
        {"op": "test", "path": "/metadata/uid", "value": "u"},
        {"op": "test", "path": "/metadata/resourceVersion", "value": "3"},
    ]
    assert first.body[2]["value"] == [{"manager": "a"}]
    # Otherwise the server would take it for none given.
    assert second.body[2]["value"] == [{}]


async def test_annotations_are_merged_with_what_was_seen() -> None:
    script = Script(Reply(body={"metadata": {"resourceVersion": "4"}}))
    async with connected(script) as cluster:
        after = await cluster.objects.annotate(
            WIDGETS,
            WritePermit(ObjectKey("ns", "a"), "u", "3"),
            annotations={"x/y": None, "x/z": "text"},
        )
    (seen,) = script.seen
    assert after == "4"
    assert seen.method == "PATCH"
    assert seen.body == {
        "metadata": {
            "uid": "u",
            "resourceVersion": "3",
            "annotations": {"x/y": None, "x/z": "text"},
        }
    }
