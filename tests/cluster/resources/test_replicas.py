from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from espalier.cluster import Cluster, Connection, connect_to
from espalier.cluster.auth.credentials import FixedSource
from espalier.cluster.resources.replicas import HttpReplicas
from espalier.errors import TransientError
from espalier.sandbox import Sandbox
from tests.cluster.scripted import ManualClock

PATH = "/apis/coordination.k8s.io/v1/namespaces/ns/leases/espalier-replicas"


@asynccontextmanager
async def serving(clock: ManualClock) -> AsyncIterator[tuple[Cluster, aiohttp.ClientSession]]:
    async with (
        Sandbox(namespaces=("ns",)) as sandbox,
        aiohttp.ClientSession(sandbox.url) as person,
        connect_to(connection_to(sandbox.url), clock) as cluster,
    ):
        yield cluster, person


def connection_to(url: str) -> Connection:
    credentials = FixedSource("Bearer sesame")
    return Connection(server=url, tls=None, credentials=credentials, origin="a test")


def replicas_of(cluster: Cluster, identity: str) -> HttpReplicas:
    return cluster.replicas("ns", identity, duration_seconds=15)


async def lease_of(person: aiohttp.ClientSession) -> dict[str, Any]:
    async with person.get(PATH) as response:
        found: dict[str, Any] = await response.json()
        return found


async def test_replicas_see_each_other_and_forget_those_that_left() -> None:
    async with serving(ManualClock()) as (cluster, _):
        one, two = replicas_of(cluster, "one"), replicas_of(cluster, "two")
        assert [await one.beat(), await two.beat(), await one.beat()] == [1, 2, 2]
        await two.leave()
        assert await one.beat() == 1


async def test_one_that_died_is_forgotten_when_it_was_seen_unchanged_for_the_duration() -> None:
    clock = ManualClock()
    async with serving(clock) as (cluster, person):
        one, two = replicas_of(cluster, "one"), replicas_of(cluster, "two")
        await one.beat()
        await two.beat()
        assert await one.beat() == 2
        clock.now_seconds += 15
        assert await one.beat() == 2
        clock.now_seconds += 0.1
        assert await one.beat() == 1
        lease = await lease_of(person)
        assert [*lease["metadata"]["annotations"].values()] == ["one 4"]
        # It was only slow.
        await two.beat()
        assert await one.beat() == 2


async def test_what_others_have_written_there_counts_for_nothing() -> None:
    async with serving(ManualClock()) as (cluster, person):
        one = replicas_of(cluster, "one")
        await one.beat()
        patch = {"metadata": {"annotations": {"example.com/note": "x"}}}
        merge = {"Content-Type": "application/merge-patch+json"}
        async with person.patch(PATH, json=patch, headers=merge) as response:
            assert response.status == 200
        assert await one.beat() == 1
        lease = await lease_of(person)
        assert "example.com/note" in lease["metadata"]["annotations"]


async def test_a_server_that_is_away_is_reported_and_leaving_it_is_not() -> None:
    async with connect_to(connection_to("http://127.0.0.1:1"), ManualClock()) as cluster:
        one = replicas_of(cluster, "one")
        with pytest.raises(TransientError):
            await one.beat()
        await one.leave()
