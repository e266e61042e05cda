"""
Watches.
"""

import asyncio

from tests.contract.server import Object
from tests.contract.widgets import Widgets
from tests.patience import PACE


def _short(event: Object) -> tuple[str, str, int | None]:
    obj = event["object"]
    return event["type"], obj["metadata"].get("name", ""), obj.get("spec", {}).get("size")


async def test_changes_are_reported_in_order(widgets: Widgets) -> None:
    server = widgets.server
    await widgets.create("a", spec={"size": 1})
    start = (await server.get(widgets.path()))["metadata"]["resourceVersion"]
    await server.merge(widgets.path("a"), {"spec": {"size": 2}})
    await widgets.create("b", spec={"size": 3})
    await server.call("DELETE", widgets.path("a"))

    events = [
        event
        async for event in server.watch(widgets.path(), resourceVersion=start, timeoutSeconds="2")
    ]

    assert [_short(event) for event in events] == [
        ("MODIFIED", "a", 2),
        ("ADDED", "b", 3),
        ("DELETED", "a", 2),
    ]
    revisions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
    assert revisions[0] > int(start)
    assert revisions == sorted(set(revisions))


async def test_bookmarks_say_what_they_are_and_how_far_the_watch_is(widgets: Widgets) -> None:
    server = widgets.server
    start = (await widgets.create("a"))["metadata"]["resourceVersion"]
    kind = {"apiVersion": f"{widgets.group}/v1alpha1", "kind": "Widget"}

    # A real server sends one when it sees fit, so that it takes initial events to have one surely.
    stream = server.watch(
        widgets.path(),
        sendInitialEvents="true",
        resourceVersionMatch="NotOlderThan",
        allowWatchBookmarks="true",
        timeoutSeconds="30",
    )
    first, bookmark = await anext(stream), await anext(stream)
    await stream.aclose()

    assert _short(first) == ("ADDED", "a", None)
    metadata = bookmark["object"].pop("metadata")
    assert int(metadata["resourceVersion"]) >= int(start)
    assert metadata["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert bookmark == {"type": "BOOKMARK", "object": kind}


async def test_a_watch_without_a_resource_version_begins_with_what_is_there(
    widgets: Widgets,
) -> None:
    await widgets.create("a", spec={"size": 1})
    await widgets.create("b", spec={"size": 2})

    events = [event async for event in widgets.server.watch(widgets.path(), timeoutSeconds="1")]

    assert sorted(_short(event) for event in events) == [("ADDED", "a", 1), ("ADDED", "b", 2)]


async def test_what_happens_later_is_reported_at_once(widgets: Widgets) -> None:
    server = widgets.server
    start = (await server.get(widgets.path()))["metadata"]["resourceVersion"]

    async def first() -> Object:
        stream = server.watch(widgets.path(), resourceVersion=start, timeoutSeconds="30")
        async for event in stream:
            await stream.aclose()
            return event
        raise AssertionError("the watch ended")

    watching = asyncio.create_task(first())
    await widgets.create("a", spec={"size": 1})

    assert _short(await asyncio.wait_for(watching, PACE.scaled(10))) == ("ADDED", "a", 1)


async def test_a_selector_turns_changes_into_comings_and_goings(widgets: Widgets) -> None:
    server = widgets.server
    await widgets.create("a", spec={"size": 1})
    start = (await server.get(widgets.path()))["metadata"]["resourceVersion"]
    for labels in ({"x": "1"}, {"x": "1", "y": "2"}, {"x": None}):
        await server.merge(widgets.path("a"), {"metadata": {"labels": labels}})

    events = [
        event["type"]
        async for event in server.watch(
            widgets.path(), resourceVersion=start, timeoutSeconds="1", labelSelector="x=1"
        )
    ]

    assert events == ["ADDED", "MODIFIED", "DELETED"]


async def test_too_old_a_resource_version(widgets: Widgets) -> None:
    await widgets.create("a")
    if hasattr(widgets.server.raw, "expire_the_past"):
        widgets.server.raw.expire_the_past()

    events = [
        event
        async for event in widgets.server.watch(
            widgets.path(), resourceVersion="1", timeoutSeconds="1"
        )
    ]

    assert [event["type"] for event in events] == ["ERROR"]
    status = events[0]["object"]
    assert status["message"].startswith("too old resource version: 1 (")
    assert (status["kind"], status["reason"], status["code"]) == ("Status", "Expired", 410)


async def test_a_resource_version_that_is_none(widgets: Widgets) -> None:
    answer = await widgets.server.call("GET", widgets.path(), watch="1", resourceVersion="abc")

    assert answer.failure == (
        500,
        "",
        'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
    )
