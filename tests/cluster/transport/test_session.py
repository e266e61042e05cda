import asyncio

from aiohttp import web

from espalier.cluster.transport.lanes import MAX_LANES
from espalier.cluster.transport.media_types import JSON_TYPE, PARTIAL_LIST_TYPE, PARTIAL_TYPE
from espalier.engine.ports import ObjectKey, WritePermit
from tests.cluster.scripted import WIDGETS, Reply, Script, Shelf, connected, crd, definition

WRITES = 200


class SlowWrites:
    """
    Keeps leases, and answers no write of an object before it is let.
    """

    def __init__(self) -> None:
        self.shelf = Shelf()
        self.writes = 0
        self.most_writes = 0
        self.are_many = asyncio.Event()
        self.may_end = asyncio.Event()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if "/customresourcedefinitions/" in request.path:
            return web.json_response(crd())
        if "/widgets/" not in request.path:
            return await self.shelf.answer(request)
        self.writes += 1
        self.most_writes = max(self.most_writes, self.writes)
        if self.writes == MAX_LANES:
            self.are_many.set()
        await self.may_end.wait()
        self.writes -= 1
        return web.json_response({"metadata": {"resourceVersion": "4"}})


async def test_leases_and_definitions_do_not_wait_behind_slow_writes() -> None:
    server = SlowWrites()
    async with connected(server) as cluster:
        keys = [ObjectKey("default", f"w{number}") for number in range(WRITES)]
        writes = [
            asyncio.create_task(cluster.objects.rewrite(WIDGETS, WritePermit(key, "u", None)))
            for key in keys
        ]
        await server.are_many.wait()

        leases = cluster.leases("espalier-system")
        await leases.acquire(definition())
        await leases.acquire(definition())
        await cluster.definitions.get_definition("widgets.example.com")

        assert server.writes == MAX_LANES
        assert not any(write.done() for write in writes)
        server.may_end.set()
        answers = await asyncio.gather(*writes)
        assert [answer.resource_version for answer in answers] == ["4"] * WRITES

    # All connections for objects together are bounded.
    assert server.most_writes == MAX_LANES


async def test_a_session_for_kopf_is_answered_with_metadata_alone() -> None:
    script = Script(*[Reply(body={})] * 3)
    kinds = "/apis/apiextensions.k8s.io/v1"
    async with (
        connected(script) as cluster,
        cluster.open_session(user_agent="kopf/1") as session,
    ):
        for query in ("?limit=500", "?watch=true&allowWatchBookmarks=true"):
            async with session.get(f"{cluster.server}{kinds}/customresourcedefinitions{query}"):
                pass
        async with session.post(f"{cluster.server}{kinds}", json={}):
            pass

    listed, watched, posted = (seen.headers["Accept"] for seen in script.seen)
    assert listed == f"{PARTIAL_LIST_TYPE},{JSON_TYPE}"
    assert watched == f"{PARTIAL_TYPE},{JSON_TYPE}"
    assert posted == "*/*"
