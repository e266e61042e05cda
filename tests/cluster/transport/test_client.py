"""
Requests and responses: retries, limits, and what no server should send.
"""

import gzip
import json
import sys

import pytest

from espalier.cluster import Cluster
from espalier.cluster.resources.objects import HttpObjects
from espalier.cluster.transport.client import Client, TooLargeError
from espalier.cluster.transport.session import open_session
from espalier.engine.ports import Endpoint, ObjectKey, WritePermit
from espalier.errors import (
    ClusterError,
    ConflictError,
    RejectedError,
    TransientError,
    UnusableNameError,
)
from espalier.paths import JSON
from tests.cluster.resources.test_objects import A
from tests.cluster.scripted import (
    WIDGETS,
    ManualClock,
    Reply,
    Script,
    connected,
    status_of,
)
from tests.fakes.permits import permit_for

COUNTS_LEVELS = pytest.mark.skipif(
    sys.version_info >= (3, 14),
    reason="Python 3.14 has no limit of levels for decoders: deeper texts are read",
)


async def test_reads_are_tried_again_and_wait_as_long_as_they_are_asked_to() -> None:
    clock = ManualClock()
    script = Script(
        Reply(429, status_of(429, "TooManyRequests"), {"Retry-After": "7"}),
        Reply(503, "busy"),
        Reply(body={"metadata": {"name": "a"}}),
    )

    async with connected(script, clock=clock) as cluster:
        await cluster.objects.get_object(WIDGETS, A)

    assert len(script.seen) == 3
    assert clock.slept_seconds[0] == 7
    assert 0.5 <= clock.slept_seconds[1] <= 1.5


async def test_reads_are_given_up_in_the_end() -> None:
    clock = ManualClock()
    script = Script(*[Reply(503, "busy")] * 9)

    async with connected(script, clock=clock) as cluster:
        with pytest.raises(TransientError) as raised:
            await cluster.objects.get_object(WIDGETS, A)

    assert raised.value.status == 503
    assert (len(script.seen), len(clock.slept_seconds)) == (4, 3)


async def test_no_wait_lasts_minutes() -> None:
    clock = ManualClock()
    script = Script(Reply(429, "", {"Retry-After": "600"}))

    async with connected(script, clock=clock) as cluster:
        with pytest.raises(TransientError) as raised:
            await cluster.objects.get_object(WIDGETS, A)

    assert raised.value.retry_after_seconds == 600
    assert clock.slept_seconds == []


async def test_writes_are_sent_once() -> None:
    clock = ManualClock()
    script = Script(Reply(429, "", {"Retry-After": "1"}), Reply(409, ""))

    async with connected(script, clock=clock) as cluster:
        with pytest.raises(TransientError) as raised:
            await cluster.objects.rewrite(WIDGETS, WritePermit(A, "u", "3"))
        with pytest.raises(ConflictError):
            await cluster.objects.rewrite(WIDGETS, WritePermit(A, "u", "3"))

    assert raised.value.retry_after_seconds == 1
    assert (len(script.seen), clock.slept_seconds) == (2, [])


async def test_a_date_to_come_again_is_one_of_the_servers_clock() -> None:
    headers = {
        "Date": "Fri, 02 Jan 2020 03:04:05 GMT",
        "Retry-After": "Thu, 02 Jan 2020 03:04:08 GMT",
    }
    script = Script(Reply(503, "", headers))

    async with connected(script) as cluster:
        with pytest.raises(TransientError) as raised:
            await cluster.objects.rewrite(WIDGETS, WritePermit(A, "u", None))

    assert raised.value.retry_after_seconds == 3


async def test_a_redirect_is_not_followed() -> None:
    script = Script(Reply(307, "", {"Location": "http://127.0.0.1:9/elsewhere"}))

    async with connected(script) as cluster:
        with pytest.raises(RejectedError) as raised:
            await cluster.objects.rewrite(WIDGETS, WritePermit(A, "u", None))

    assert raised.value.status == 307


HOSTILE = [
    b"",
    b"<html>",
    b"null",
    b"[]",
    b"17",
    b'"text"',
    b"{",
    b"{}",
    b'{"metadata": null, "items": []}',
    b'{"metadata": {}, "items": {}}',
    b'{"metadata": {}, "items": [null]}',
    b'{"metadata": {"continue": 3}, "items": []}',
    b'{"metadata": {"remainingItemCount": "3"}, "items": []}',
    b'{"metadata": {"resourceVersion": 3}, "items": []}',
    b'{"metadata": {}, "items": [{"metadata": {"name": 3}}]}',
    b'{"metadata": {}, "items": [[]]}',
    b"\xff\xfe\x00",
    b"[" * 100_000,
    b'{"metadata": {}, "items": [' + b"[" * 5000 + b"]" * 5000 + b"]}",
    b'{"metadata": {"name": "\\ud800"}, "items": [{"metadata": {"name": "\\ud800"}}]}',
]


async def read_whole_page(cluster: Cluster) -> list[dict[str, JSON]]:
    page = await cluster.objects.list_objects(WIDGETS, page_size=1, continue_token=None)
    read = list(page.objects)
    # One that cannot be read does not end the page, and is not passed over in silence either.
    if not read and page.unread:
        raise RejectedError(verb="list", resource=str(WIDGETS), detail=str(page.unread))
    return read


@pytest.mark.parametrize("body", HOSTILE)
async def test_whatever_a_server_sends_is_a_cluster_error(body: bytes) -> None:
    script = Script(*[Reply(body=body)] * 4)

    async with connected(script) as cluster:
        with pytest.raises(ClusterError):
            await cluster.objects.list_metadata(WIDGETS, page_size=1, continue_token=None)
        with pytest.raises(ClusterError):
            await read_whole_page(cluster)
        with pytest.raises(ClusterError):
            await cluster.objects.rewrite(WIDGETS, WritePermit(A, "u", None))


async def test_a_page_that_is_too_large_is_read_in_smaller_pieces() -> None:
    small = {"metadata": {"resourceVersion": "9"}, "items": []}
    script = Script(Reply(body=b" " * 2000), Reply(body=b" " * 2000), Reply(body=small))

    async with connected(script) as cluster, open_session(cluster.connection) as session:
        client = Client(session, cluster.connection, ManualClock(), max_answer_bytes=1000)
        objects = HttpObjects(client, client, cluster.lanes)
        await objects.list_metadata(WIDGETS, page_size=500, continue_token=None)

    assert [seen.query["limit"] for seen in script.seen] == ["500", "125", "31"]


def nested(levels: int) -> bytes:
    return b'{"f:a":' * levels + b"{}" + b"}" * levels


async def test_one_object_of_any_depth_does_not_cost_its_page() -> None:
    fields = b'"managedFields":[{"fieldsV1":' + nested(9_990) + b"}]"
    items = b'{"metadata":{"name":"deep",' + fields + b'}},{"metadata":{"name":"other"}}'
    page = b'{"metadata":{"resourceVersion":"9"},"items":[' + items + b"]}"
    script = Script(Reply(body=page))

    async with connected(script) as cluster:
        found = await cluster.objects.list_metadata(WIDGETS, page_size=2, continue_token=None)

    assert [metadata.key.name for metadata in found.objects] == ["deep", "other"]
    assert sys.getrecursionlimit() < 9_990


@COUNTS_LEVELS
async def test_a_page_that_is_deeper_than_any_server_sends_is_refused() -> None:
    page = b'{"metadata":{},"items":[{"metadata":{"name":"a"},"spec":' + nested(50_000) + b"}]}"
    script = Script(Reply(body=page))

    async with connected(script) as cluster:
        with pytest.raises(RejectedError, match="nested too deeply"):
            await cluster.objects.list_metadata(WIDGETS, page_size=2, continue_token=None)


async def test_a_page_of_huge_objects_is_not_taken_whole() -> None:
    small = {"metadata": {"resourceVersion": "9"}, "items": []}
    script = Script(Reply(body=b" " * (16 * 1024 * 1024 + 1)), Reply(body=small))

    async with connected(script) as cluster:
        await cluster.objects.list_objects(WIDGETS, page_size=500, continue_token=None)

    assert [seen.query["limit"] for seen in script.seen] == ["500", "125"]


async def test_an_object_that_is_too_large_alone_is_an_error() -> None:
    script = Script(*[Reply(body=b" " * 2000)] * 2)

    async with connected(script) as cluster, open_session(cluster.connection) as session:
        client = Client(session, cluster.connection, ManualClock(), max_answer_bytes=1000)
        with pytest.raises(RejectedError, match="more than 1000 bytes"):
            await HttpObjects(client, client, cluster.lanes).list_metadata(
                WIDGETS, page_size=1, continue_token=None
            )


async def test_a_cut_answer_and_a_closed_port_are_transient() -> None:
    script = Script(*[Reply(pieces=(b'{"metadata"',), cut=True)] * 4)

    async with connected(script) as cluster:
        with pytest.raises(TransientError, match="ConnectionFailed"):
            await cluster.objects.get_object(WIDGETS, A)
        closed = cluster.connection
    async with open_session(closed) as session:
        client = Client(session, closed, ManualClock())
        with pytest.raises(TransientError, match="ConnectionFailed"):
            await HttpObjects(client, client, cluster.lanes).get_object(WIDGETS, A)

    assert len(script.seen) == 4


async def test_names_cannot_lead_to_another_path() -> None:
    odd = Endpoint(group="example.com", version="v1", plural="widgets", kind="W", namespaced=True)
    script = Script(Reply(404, status_of(404, "NotFound")))

    async with connected(script) as cluster:
        with pytest.raises(ClusterError):
            await cluster.objects.get_object(odd, ObjectKey("default", "a/../b?c#d%"))
        with pytest.raises(UnusableNameError, match="is not a name"):
            await cluster.objects.get_object(odd, ObjectKey("default", ".."))

    (seen,) = script.seen
    assert seen.path.endswith("/widgets/a%2F..%2Fb%3Fc%23d%25")


async def test_what_is_nested_deeply_is_sent_as_it_came() -> None:
    metadata: JSON = {"name": "a", "namespace": "default", "uid": "u", "resourceVersion": "3"}
    script = Script(Reply(body={"metadata": metadata}))

    async with connected(script) as cluster:
        deep: JSON = 1
        for _ in range(500):
            deep = {"a": deep}
        await cluster.objects.replace(
            WIDGETS,
            {"metadata": metadata, "spec": deep},
            permit_for({"metadata": metadata}),
            subresource=None,
        )

    (seen,) = script.seen
    assert seen.body["metadata"] == metadata
    assert str(seen.body["spec"]).count("a") == 500


@COUNTS_LEVELS
async def test_what_is_nested_too_deeply_is_not_sent() -> None:
    metadata: JSON = {"name": "a", "namespace": "default", "uid": "u", "resourceVersion": "3"}
    script = Script()
    deep: JSON = 1
    for _ in range(30_000):
        deep = [deep]

    async with connected(script) as cluster:
        with pytest.raises(RejectedError, match="nested too deeply"):
            await cluster.objects.replace(
                WIDGETS,
                {"metadata": metadata, "spec": deep},
                permit_for({"metadata": metadata}),
                subresource=None,
            )

    assert script.seen == []


@pytest.mark.parametrize("size_bytes", [10, 100_000])
async def test_a_compressed_answer_is_bounded_by_what_it_unpacks_to(size_bytes: int) -> None:
    page = {"metadata": {}, "items": [], "padding": "x" * size_bytes}
    packed = gzip.compress(json.dumps(page).encode())
    assert len(packed) < 1000
    reply = Reply(body=packed, headers={"Content-Encoding": "gzip"})
    script = Script(*[reply] * 9)
    async with connected(script) as cluster, open_session(cluster.connection) as session:
        client = Client(session, cluster.connection, ManualClock(), max_answer_bytes=1000)
        objects = HttpObjects(client, client, cluster.lanes)
        listing = objects.list_metadata(WIDGETS, page_size=1, continue_token=None)
        if size_bytes < 1000:
            assert (await listing).objects == ()
        else:
            with pytest.raises(TooLargeError):
                await listing
