"""
A legacy definition that is kept pruned by one operator or several.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from contextvars import ContextVar, copy_context
from dataclasses import replace
from typing import Any, TypeVar

from espalier.crd import Condition
from espalier.engine import Ports, RunSettings, keep_pruned
from espalier.engine.ports import Endpoint, WritePermit
from espalier.engine.ports.reporter import Reporter
from espalier.paths import JSON
from tests.fakes.cluster import FakeCluster
from tests.fakes.leases import FakeLease, FakeLeases
from tests.fakes.widgets import ENFORCE, legacy_widgets

SETTINGS = RunSettings(settle_seconds=0, page_size=10, max_in_flight=4)


GARBAGE: dict[str, JSON] = {"spec": {"size": 1}, "stray": 1}


WRITES = ("archive", "replace", "replace/status", "rewrite", "annotate")


T = TypeVar("T")


identity_of_writer = ContextVar("identity_of_writer", default="")


class SlowCluster(FakeCluster):
    """
    Takes its time for writes.
    """

    seconds = 0.0

    async def replace(
        self,
        resource: Endpoint,
        obj: dict[str, JSON],
        permit: WritePermit,
        *,
        subresource: str | None,
    ) -> dict[str, JSON]:
        await self.clock.sleep(self.seconds)
        return await super().replace(resource, obj, permit, subresource=subresource)


class PrunedCluster:
    """
    A cluster of one legacy definition, and the one lease that all who write to it need.
    """

    def __init__(self, *, labels: dict[str, str] | None = None) -> None:
        self.cluster = SlowCluster(legacy_widgets(labels=labels or ENFORCE))
        self.lease = FakeLease()
        self.clock = self.cluster.clock
        self.unguarded: list[tuple[str, str, str]] = []
        self.cluster.hooks.append(self.watch)

    def watch(self, call: str, name: str) -> None:
        """
        Note the writes of whoever does not hold the lease.
        """
        identity = identity_of_writer.get()
        if call in WRITES and identity != self.lease.holder:
            self.unguarded.append((identity, call, name))

    def begin(self, identity: str, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """
        Have somebody do something in the background.
        """
        context = copy_context()
        context.run(identity_of_writer.set, identity)
        return asyncio.create_task(work, context=context)

    def ports(self, identity: str) -> Ports:
        leases = FakeLeases(self.lease, identity, self.clock)
        return replace(self.cluster.ports, leases=leases)

    def tending(
        self,
        identity: str = "operator",
        settings: RunSettings = SETTINGS,
        reported: tuple[Condition, ...] = (),
        reporter: Reporter | None = None,
    ) -> "asyncio.Task[None]":
        definition = self.cluster.definition
        assert definition is not None
        ports, reporter = self.ports(identity), reporter or self.cluster
        return self.begin(
            identity, keep_pruned(definition, ports, settings, reporter, reported=reported)
        )

    @asynccontextmanager
    async def tended(
        self, settings: RunSettings = SETTINGS, reported: tuple[Condition, ...] = ()
    ) -> AsyncIterator["asyncio.Task[None]"]:
        task = self.tending(settings=settings, reported=reported)
        try:
            await self.clock.sleep(3)
            yield task
        finally:
            if task.done():
                task.result()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert self.unguarded == []

    def hold(self, identity: str = "another", *, seconds: float = float("inf")) -> None:
        self.lease.holder = identity
        self.lease.until_seconds = self.clock.monotonic_seconds() + seconds

    def is_clean(self, name: str) -> bool:
        return "stray" not in self.cluster.raw(name)

    @property
    def said(self) -> Condition:
        return self.cluster.reports[-1][0]
