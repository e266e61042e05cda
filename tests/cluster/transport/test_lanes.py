"""
Writes go only through connections whose server shows that it stores the storage version.
"""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

import pytest
from aiohttp import web

from espalier.cluster import Cluster
from espalier.cluster.resources.storage_versions import storage_version_hash
from espalier.cluster.transport.lanes import MAX_TRIES, PROBES
from espalier.engine.ports import Endpoint, ObjectKey, WritePermit
from espalier.engine.ports.servers import ServerBehindError, ServersSeen
from espalier.errors import ConflictError
from tests.cluster.scripted import WIDGETS, connected, discovery, status_of

PERMIT = WritePermit(ObjectKey("default", "a"), "u", "3")
OLD, NEW = (storage_version_hash(WIDGETS._replace(version=name)) for name in ("v1alpha1", "v1"))


class Servers:
    """
    Serves each new connection by the next of some API servers, and the rest by the last one.

    Attributes:
        shown: The hash that each of them shows in discovery; None for none.
        asked: The server of each discovery request.
        written: The server of each write.
        closing: How many of the next answers close their connections.
        is_discovered: Whether the version is served.
    """

    def __init__(self, *shown: str | None) -> None:
        self.shown = list(shown)
        self.asked: list[int] = []
        self.written: list[int] = []
        self.closing = 0
        self.is_discovered = True
        self._connections: dict[int, asyncio.BaseTransport] = {}

    def connected(self) -> AbstractAsyncContextManager[Cluster]:
        return connected(self, is_discovered=False)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        server = self._server_of(request)
        if request.path == "/apis/example.com/v1":
            self.asked.append(server)
            if not self.is_discovered:
                return web.json_response(status_of(404, "NotFound"), status=404)
            answer = web.json_response(discovery(self.shown[server]))
        else:
            assert request.path == "/apis/example.com/v1/namespaces/default/widgets/a"
            self.written.append(server)
            answer = web.json_response({"metadata": {"resourceVersion": "4"}})
        if self.closing:
            self.closing -= 1
            answer.force_close()
        return answer

    def _server_of(self, request: web.Request) -> int:
        transport = request.transport
        assert transport is not None
        known = [number for number, one in self._connections.items() if one is transport]
        if not known:
            known = [len(self._connections)]
            self._connections[known[0]] = transport
        return min(known[0], len(self.shown) - 1)


async def rewrite(cluster: Cluster, resource: Endpoint = WIDGETS) -> str:
    return (await cluster.objects.rewrite(resource, PERMIT)).resource_version


@pytest.mark.parametrize(
    ("group", "version", "kind", "expected"),
    [
        ("apps", "v1", "Deployment", "8aSe+NMegvE="),
        ("", "v1", "Secret", "S6u1pOWzb84="),
    ],
)
def test_the_hash_is_that_of_api_servers(
    group: str, version: str, kind: str, expected: str
) -> None:
    resource = Endpoint(group=group, version=version, plural="", kind=kind, namespaced=True)
    assert storage_version_hash(resource) == expected


async def test_a_connection_is_asked_once() -> None:
    servers = Servers(NEW)
    async with servers.connected() as cluster:
        assert [await rewrite(cluster) for _ in range(5)] == ["4"] * 5
    assert (servers.asked, servers.written) == ([0], [0] * 5)


async def test_nothing_is_written_through_a_server_that_is_behind() -> None:
    servers = Servers(OLD, OLD, NEW)
    async with servers.connected() as cluster:
        await rewrite(cluster)
        await rewrite(cluster)
    assert (servers.asked, servers.written) == ([0, 1, 2], [2, 2])


async def test_all_servers_behind_are_an_error_of_its_own() -> None:
    servers = Servers(OLD)
    async with servers.connected() as cluster:
        with pytest.raises(ServerBehindError):
            await rewrite(cluster)
        assert len(servers.asked) == MAX_TRIES
        servers.shown = [NEW]
        await rewrite(cluster)
    assert servers.written == [0]


async def test_a_server_that_does_not_serve_the_version_is_behind() -> None:
    servers = Servers(NEW)
    servers.is_discovered = False
    async with servers.connected() as cluster:
        with pytest.raises(ServerBehindError):
            await rewrite(cluster)
    assert servers.written == []


@pytest.mark.parametrize("shown", [None, ""])
async def test_a_server_that_shows_no_hash_is_written_through(shown: str | None) -> None:
    servers = Servers(shown)
    async with servers.connected() as cluster:
        await rewrite(cluster)
    assert servers.written == [0]


async def test_another_resource_is_asked_for_by_itself() -> None:
    servers = Servers(NEW)
    async with servers.connected() as cluster:
        await rewrite(cluster)
        with pytest.raises(ServerBehindError):
            await rewrite(cluster, WIDGETS._replace(kind="Gadget"))
    assert servers.written == [0]


async def test_a_look_has_open_connections_asked_again() -> None:
    servers = Servers(NEW, NEW)
    async with servers.connected() as cluster:
        await rewrite(cluster)
        servers.shown = [OLD, NEW]
        # Of an open connection nothing new is known.
        await rewrite(cluster)
        seen = await cluster.objects.look_for_servers_behind(WIDGETS)
        await rewrite(cluster)
    assert seen == ServersSeen(behind=1, caught_up=PROBES - 1)
    assert servers.written == [0, 0, 1]


async def test_a_look_reports_what_writes_have_met_since_the_last_one() -> None:
    servers = Servers(OLD, NEW)
    async with servers.connected() as cluster:
        await rewrite(cluster)
        first = await cluster.objects.look_for_servers_behind(WIDGETS)
        second = await cluster.objects.look_for_servers_behind(WIDGETS)
    assert (first.behind, second) == (1, ServersSeen(behind=0, caught_up=1))


async def test_a_look_finds_one_stale_server_of_many() -> None:
    servers = Servers(NEW, NEW, NEW, NEW, OLD, NEW)
    async with servers.connected() as cluster:
        await rewrite(cluster)
        servers.shown[0] = OLD
        seen = await cluster.objects.look_for_servers_behind(WIDGETS)
    assert (seen.behind, seen.caught_up) == (2, PROBES - 2)


async def test_nothing_is_written_on_the_connection_behind_one_that_was_asked_and_closed() -> None:
    servers = Servers(NEW, OLD, NEW)
    servers.closing = 1
    async with servers.connected() as cluster:
        await rewrite(cluster)
    assert (servers.asked, servers.written) == ([0, 1, 2], [2])


async def test_a_connection_is_asked_whenever_it_is_opened() -> None:
    servers = Servers(NEW, OLD, NEW)
    async with servers.connected() as cluster:
        await rewrite(cluster)
        servers.closing = 1
        await rewrite(cluster)
        await rewrite(cluster)
    assert (servers.asked, servers.written) == ([0, 1, 2], [0, 0, 2])


async def test_a_proxy_that_closes_each_connection_does_not_stop_writes() -> None:
    servers = Servers(NEW)
    servers.closing = 100
    async with servers.connected() as cluster:
        await rewrite(cluster)
    assert servers.written == [0]


async def test_a_refused_write_is_sent_once() -> None:
    class Refusing(Servers):
        async def answer(self, request: web.Request) -> web.StreamResponse:
            answer = await super().answer(request)
            if request.method == "PATCH":
                return web.json_response(status_of(409, "Conflict"), status=409)
            return answer

    servers = Refusing(NEW)
    async with servers.connected() as cluster:
        with pytest.raises(ConflictError):
            await rewrite(cluster)
    assert servers.written == [0]


@pytest.mark.parametrize("writes", [48])
async def test_many_writes_go_out_at_a_time(writes: int) -> None:
    servers = Servers(NEW)
    async with servers.connected() as cluster:
        answers: Sequence[str] = await asyncio.gather(*(rewrite(cluster) for _ in range(writes)))
    assert list(answers) == ["4"] * writes
    assert len(servers.asked) == writes
