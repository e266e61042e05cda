"""
Lists: pages, tokens, selectors, metadata only.
"""

import base64

import orjson

from tests.contract.server import METADATA_LIST, Object
from tests.contract.widgets import Widgets


async def _fill(widgets: Widgets, count: int) -> None:
    for index in range(count):
        await widgets.create(f"w{index}", spec={"size": index})


def _names(listed: Object) -> list[str]:
    return [item["metadata"]["name"] for item in listed["items"]]


async def test_a_list_of_custom_objects(widgets: Widgets) -> None:
    made = await widgets.create("a", spec={"size": 1})

    listed = await widgets.server.get(widgets.path())

    revision = listed["metadata"].pop("resourceVersion")
    assert int(revision) >= int(made["metadata"]["resourceVersion"])
    assert listed == {
        "apiVersion": f"{widgets.group}/v1alpha1",
        "kind": "WidgetList",
        "metadata": {"continue": ""},
        "items": [made],
    }


async def test_pages(widgets: Widgets) -> None:
    await _fill(widgets, 5)

    first = await widgets.server.get(widgets.path(), limit="2")
    token = first["metadata"]["continue"]
    await widgets.create("w1a")
    second = await widgets.server.get(widgets.path(), limit="2", **{"continue": token})
    last = await widgets.server.get(
        widgets.path(), limit="2", **{"continue": second["metadata"]["continue"]}
    )

    assert _names(first) == ["w0", "w1"]
    assert first["metadata"]["remainingItemCount"] == 3
    # All pages are read as of the first one.
    assert _names(second) == ["w2", "w3"]
    assert second["metadata"]["remainingItemCount"] == 1
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    assert _names(last) == ["w4"]
    assert last["metadata"]["continue"] == ""
    assert "remainingItemCount" not in last["metadata"]


async def test_pages_of_metadata(widgets: Widgets) -> None:
    await _fill(widgets, 3)

    answer = await widgets.server.call("GET", widgets.path(), accept=METADATA_LIST, limit="2")

    body = answer.body
    assert body["kind"] == "PartialObjectMetadataList"
    assert body["apiVersion"] == "meta.k8s.io/v1"
    assert body["metadata"]["remainingItemCount"] == 1
    assert body["metadata"]["continue"]
    assert _names(body) == ["w0", "w1"]
    item = body["items"][0]
    assert item.keys() == {"kind", "apiVersion", "metadata"}
    assert (item["kind"], item["apiVersion"]) == ("PartialObjectMetadata", "meta.k8s.io/v1")
    assert item["metadata"]["uid"]
    assert item["metadata"]["resourceVersion"]
    assert item["metadata"]["managedFields"][0]["manager"] == "author"


async def test_the_last_page_of_metadata_names_no_token(widgets: Widgets) -> None:
    await _fill(widgets, 1)

    answer = await widgets.server.call("GET", widgets.path(), accept=METADATA_LIST, limit="2")

    assert answer.body["metadata"].keys() == {"resourceVersion"}


async def test_list_options_that_make_no_sense(widgets: Widgets) -> None:
    await _fill(widgets, 2)
    listed = await widgets.server.get(widgets.path(), limit="1")
    token = listed["metadata"]["continue"]

    async def refused(**options: str) -> tuple[int, str, str]:
        answer = await widgets.server.call("GET", widgets.path(), **options)
        return answer.failure

    assert await refused(limit="x") == (
        400,
        "BadRequest",
        'strconv.ParseInt: parsing "x": invalid syntax',
    )
    assert await refused(resourceVersion="1", **{"continue": token}) == (
        400,
        "BadRequest",
        "specifying resource version is not allowed when using continue",
    )
    assert await refused(fieldSelector="spec.x=a") == (
        400,
        "BadRequest",
        "field label not supported: spec.x",
    )
    bad_token = await refused(limit="1", **{"continue": base64.b64encode(b"nonsense").decode()})
    assert bad_token[:2] == (400, "BadRequest")
    assert bad_token[2].startswith("invalid continue token: continue key is not valid: ")
    future = await refused(resourceVersion="99999999999")
    assert future[:2] == (504, "Timeout")
    assert future[2].startswith("Timeout: Too large resource version: 99999999999, current: ")


async def test_selectors(widgets: Widgets) -> None:
    server = widgets.server
    for name, labels in (("a", {"x": "1"}), ("b", {"x": "2", "y": ""}), ("c", {})):
        body = widgets.widget(name)
        body["metadata"]["labels"] = labels
        await server.post(widgets.path(), body)

    async def found(**options: str) -> list[str]:
        return _names(await server.get(widgets.path(), **options))

    assert await found(labelSelector="x=1") == ["a"]
    assert await found(labelSelector="x!=1") == ["b", "c"]
    assert await found(labelSelector="x in (1,2),y") == ["b"]
    assert await found(labelSelector="x notin (1)") == ["b", "c"]
    assert await found(labelSelector="!x") == ["c"]
    assert await found(fieldSelector="metadata.name=b") == ["b"]
    assert await found(fieldSelector="metadata.name!=b") == ["a", "c"]
    page = await server.get(widgets.path(), labelSelector="x", limit="1")
    assert _names(page) == ["a"]
    assert page["metadata"]["continue"]
    assert "remainingItemCount" not in page["metadata"]


async def test_all_namespaces_are_listed_at_the_root(widgets: Widgets) -> None:
    body = widgets.widget("a")
    await widgets.server.post(widgets.path(), body)
    await widgets.server.post(widgets.path().replace("/default/", "/kube-system/"), body)

    listed = await widgets.server.get(f"/apis/{widgets.group}/v1/widgets")

    assert [item["metadata"]["namespace"] for item in listed["items"]] == [
        "default",
        "kube-system",
    ]
    for item in listed["items"]:
        path = widgets.path("a").replace("default", item["metadata"]["namespace"])
        assert (await widgets.server.call("DELETE", path)).status == 200
    assert await widgets.server.call("POST", f"/apis/{widgets.group}/v1/widgets", {}) == (
        404,
        "404 page not found\n",
    )


async def test_a_collection_is_deleted_by_selector(widgets: Widgets) -> None:
    for name in ("a", "b"):
        body = widgets.widget(name)
        body["metadata"]["labels"] = {"name": name}
        await widgets.server.post(widgets.path(), body)

    await widgets.server.call("DELETE", widgets.path(), labelSelector="name=a")

    assert _names(await widgets.server.get(widgets.path())) == ["b"]


async def test_the_items_of_lists_of_builtin_kinds_do_not_say_what_they_are(
    widgets: Widgets,
) -> None:
    listed = await widgets.server.get("/api/v1/namespaces", limit="1")

    assert (listed["kind"], listed["apiVersion"]) == ("NamespaceList", "v1")
    assert listed["metadata"].keys() == {"resourceVersion", "continue", "remainingItemCount"}
    assert "kind" not in listed["items"][0]
    assert "apiVersion" not in listed["items"][0]


def _token_behind(start: str) -> str:
    content = {"v": "meta.k8s.io/v1", "rv": -1, "start": start}
    return base64.urlsafe_b64encode(orjson.dumps(content)).decode().rstrip("=")


async def test_a_token_made_by_a_client_goes_on_at_the_newest_resource_version(
    widgets: Widgets,
) -> None:
    await _fill(widgets, 4)
    everywhere = f"/apis/{widgets.group}/v1alpha1/widgets"
    first = await widgets.server.get(everywhere, limit="1")
    await widgets.create("w1a")

    cases = [
        (everywhere, "default/w1\0", ["w1a", "w2", "w3"]),
        (widgets.path(), "w1\0", ["w1a", "w2", "w3"]),
        (everywhere, "default/w1b\0", ["w2", "w3"]),
        (everywhere, "default0", []),
    ]
    for path, start, expected in cases:
        token = _token_behind(start)
        listed = await widgets.server.get(path, limit="9", **{"continue": token})
        assert _names(listed) == expected
    assert _names(first) == ["w0"]


async def test_a_token_is_the_same_for_all_versions(widgets: Widgets) -> None:
    await _fill(widgets, 4)
    first = await widgets.server.get(widgets.path(), limit="2")
    token = {"continue": first["metadata"]["continue"]}
    await widgets.server.merge(widgets.path("w3"), {"spec": {"size": 9}})

    old = await widgets.server.get(widgets.path(), limit="2", **token)
    new = await widgets.server.get(widgets.path(version="v1"), limit="2", **token)

    assert _names(old) == _names(new) == ["w2", "w3"]
    assert [item["metadata"]["resourceVersion"] for item in old["items"]] == [
        item["metadata"]["resourceVersion"] for item in new["items"]
    ]
