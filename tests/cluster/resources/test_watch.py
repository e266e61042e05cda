import json
from typing import Any

import pytest

from espalier.cluster import Cluster
from espalier.cluster.resources.watch import watch
from espalier.cluster.transport.client import ApiRequest, Client
from espalier.cluster.transport.session import open_session
from espalier.engine.ports import WatchEvent
from espalier.errors import (
    ClusterError,
    ExpiredTokenError,
    NotFoundError,
    RejectedError,
    TransientError,
)
from tests.cluster.scripted import WIDGETS, ManualClock, Reply, Script, connected, status_of


def event(type_: str, obj: Any) -> bytes:
    return json.dumps({"type": type_, "object": obj}).encode() + b"\n"


def widget(name: str, version: str) -> dict[str, Any]:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": name, "resourceVersion": version},
    }


async def watched(cluster: Cluster) -> list[WatchEvent]:
    return [event async for event in cluster.objects.watch_objects(WIDGETS, resource_version="5")]


async def test_events_come_in_order_until_the_server_ends_the_watch() -> None:
    bookmark = widget("", "8") | {"metadata": {"resourceVersion": "8"}}
    stream = (
        event("ADDED", widget("a", "6"))
        + event("MODIFIED", widget("a", "7"))
        + b"\n"
        + event("BOOKMARK", bookmark)
        + event("DELETED", widget("a", "9"))
    )
    script = Script(Reply(pieces=(stream[:30], stream[30:90], stream[90:])))

    async with connected(script) as cluster:
        events = await watched(cluster)

    assert [(e.type, e.resource_version) for e in events] == [
        ("ADDED", "6"),
        ("MODIFIED", "7"),
        ("BOOKMARK", "8"),
        ("DELETED", "9"),
    ]
    assert events[0].object == widget("a", "6")
    assert script.seen[0].query == {
        "watch": "1",
        "allowWatchBookmarks": "true",
        "resourceVersion": "5",
        "timeoutSeconds": "300",
    }


async def test_a_server_that_is_not_ready_is_asked_again() -> None:
    clock = ManualClock()
    busy = Reply(429, status_of(429, "TooManyRequests", "storage is (re)initializing"))
    script = Script(busy, busy, Reply(pieces=(event("ADDED", widget("a", "6")),)))

    async with connected(script, clock=clock) as cluster:
        events = await watched(cluster)

    assert [e.resource_version for e in events] == ["6"]
    assert len(clock.slept_seconds) == 2


async def test_an_old_resource_version_is_reported_by_the_answer_or_by_an_event() -> None:
    gone = status_of(410, "Expired", "too old resource version")
    script = Script(Reply(410, gone), Reply(pieces=(event("ERROR", gone),)))

    async with connected(script) as cluster:
        for _ in range(2):
            with pytest.raises(ExpiredTokenError, match="too old"):
                await watched(cluster)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (status_of(500, "InternalError"), TransientError),
        (status_of(400, "BadRequest"), TransientError),
        (status_of(404, "NotFound"), NotFoundError),
        ({}, TransientError),
        ([], TransientError),
        ("boom", TransientError),
    ],
)
async def test_an_error_event_ends_the_watch(said: Any, expected: type[ClusterError]) -> None:
    script = Script(Reply(pieces=(event("ADDED", widget("a", "6")) + event("ERROR", said),)))

    async with connected(script) as cluster:
        with pytest.raises(ClusterError) as raised:
            await watched(cluster)

    assert type(raised.value) is expected


@pytest.mark.parametrize(
    "line",
    [
        b"<html>\n",
        b"null\n",
        b"[]\n",
        b'{"type": "ADDED"}\n',
        b'{"type": 3, "object": {}}\n',
        b'{"type": "ADDED", "object": null}\n',
        b'{"type": "ADDED", "object": {"metadata": {}}}\n',
        b'{"type": "ADDED", "object": {"metadata": {"resourceVersion": 6}}}\n',
        b'{"type": "SOMETHING", "object": {"metadata": {"resourceVersion": "6"}}}\n',
        b'{"type": "ADDED", "object": {"metadata": {"resourceVersion": "6"}, "x": '
        + b"[" * 1_500_000
        + b"]" * 1_500_000
        + b"}}\n",
    ],
)
async def test_garbage_ends_the_watch(line: bytes) -> None:
    script = Script(Reply(pieces=(line,)))

    async with connected(script) as cluster:
        with pytest.raises(RejectedError, match="MalformedAnswer"):
            await watched(cluster)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(pieces=(b'{"type": "ADDED", "obj',), cut=True),
        Reply(pieces=(b'{"type": "ADDED", "obj',)),
    ],
)
async def test_a_broken_stream_is_transient(reply: Reply) -> None:
    script = Script(reply)

    async with connected(script) as cluster:
        with pytest.raises(TransientError, match="ConnectionFailed"):
            await watched(cluster)


async def test_an_endless_line_is_not_kept() -> None:
    script = Script(Reply(pieces=tuple([b"x" * 400] * 10), stuck=True))

    async with connected(script) as cluster, open_session(cluster.connection) as session:
        client = Client(session, cluster.connection, ManualClock())
        events = watch(client, WIDGETS, resource_version="5", max_line_bytes=1000)
        with pytest.raises(RejectedError, match="over 1000 bytes"):
            await anext(events)


async def test_a_line_of_many_pieces_is_read() -> None:
    line = event("ADDED", widget("a", "6") | {"spec": {"text": "x" * 300_000}})
    pieces = tuple(line[start : start + 10_000] for start in range(0, len(line), 10_000))
    script = Script(Reply(pieces=pieces))

    async with connected(script) as cluster:
        (changed,) = await watched(cluster)

    assert changed.object["spec"] == {"text": "x" * 300_000}


async def listen(cluster: Cluster, call: ApiRequest) -> list[bytes]:
    async with cluster.client.stream(call, silence_seconds=0.05) as content:
        return [piece async for piece in content.iter_any()]


async def test_silence_is_transient() -> None:
    script = Script(Reply(pieces=(b"\n",), stuck=True))
    call = ApiRequest(verb="watch", resource="widgets", method="GET", path="/")

    async with connected(script) as cluster:
        with pytest.raises(TransientError, match="Timeout"):
            await listen(cluster, call)


async def test_a_call_that_takes_too_long_is_transient() -> None:
    script = Script(Reply(stuck=True))
    call = ApiRequest(verb="get", resource="widgets", method="GET", path="/", total_seconds=0.05)

    async with connected(script) as cluster:
        with pytest.raises(TransientError, match="Timeout"):
            await cluster.client.send(call)
