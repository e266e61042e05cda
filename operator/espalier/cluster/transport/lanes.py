"""
Write stored objects only through servers that were asked for the version that they store.

A lane is one connection. Its server is asked once the lane is opened, and again after each look;
a write goes out on the very connection on which the server has answered, or not at all. A lane
whose server is behind is closed, so that the next connection may lead to another server.

What is asked is the caller's: this module knows that connections are asked, and not for what.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import aiohttp

from espalier.cluster.auth.connection import Connection
from espalier.cluster.transport.client import ApiRequest, Client
from espalier.cluster.transport.session import (
    CheckedConnector,
    UnsentError,
    open_session,
    tls_of,
)
from espalier.engine.ports import Endpoint
from espalier.engine.ports.clock import Clock
from espalier.engine.ports.servers import NotSentError, ServerBehindError, ServersSeen

if TYPE_CHECKING:
    from aiohttp.connector import Connection as HttpConnection
    from aiohttp.tracing import Trace

Ask = Callable[[Client, Endpoint], Awaitable[bool]]
"""
Asks the server of a client whether it stores a resource at the endpoint's version.

Raises:
    ClusterError: It does not answer.
"""

MAX_LANES = 128
"""More than are written at a time by default, of all runs."""

PROBES = 8
"""
How many new connections are asked at a look after a server was behind: where one of three servers
is, these miss it once in 25 looks.
"""

MAX_TRIES = 4
"""How many connections a write tries while no server is known to have caught up."""

MAX_TRIES_BESIDE_OTHERS = 24
"""The same while another lane leads to one that has."""

_FIRST_PAUSE_SECONDS = 0.25
_MAX_PAUSE_SECONDS = 1.0

_MAX_RECONNECTIONS = 3


class OtherConnectionError(UnsentError):
    """
    A request was to go out on a connection whose server was not asked; it was not sent.
    """


class _LaneConnector(CheckedConnector):
    """
    Has one connection, and sends nothing on another one than the caller demands.

    Attributes:
        last: The connection that was used last.
        demanded: The only one that may be used; None for any.
    """

    last: "asyncio.BaseTransport | None" = None
    demanded: "asyncio.BaseTransport | None" = None

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: "list[Trace]",
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - the library's signature
    ) -> "HttpConnection":
        """
        Connect, or take the open connection.

        Raises:
            OtherConnectionError: It is not the one that is demanded.
        """
        connection = await super().connect(req, traces, timeout)
        self.last = connection.transport
        if self.demanded is not None and self.last is not self.demanded:
            # It stays open, and is asked next.
            connection.release()
            raise OtherConnectionError
        return connection


class Lane:
    """
    One connection, and what its server has answered.
    """

    def __init__(self, connection: Connection, clock: Clock, *, dry_run: bool) -> None:
        self._connector = _LaneConnector(limit=1, ssl=tls_of(connection))
        self._session = open_session(connection, connector=self._connector)
        self._client = Client(self._session, connection, clock, dry_run=dry_run)
        self._asked_on: asyncio.BaseTransport | None = None
        self._looks: dict[Endpoint, int] = {}
        self._reconnections = 0

    def has_shown(self, resource: Endpoint, look: int) -> bool:
        """
        Report whether the server has answered on this connection since the look.
        """
        if self._asked_on is not None and self._asked_on.is_closing():
            self._forget()
        return self._looks.get(resource) == look

    async def is_caught_up(self, resource: Endpoint, look: int, ask: Ask) -> bool:
        """
        Ask the server, unless it has answered on this connection since the look.

        Raises:
            ClusterError: It does not answer.
        """
        if self.has_shown(resource, look):
            return True
        self._connector.demanded = None
        is_caught_up = await ask(self._client, resource)
        if self._connector.last is not self._asked_on:
            self._forget()
            self._asked_on = self._connector.last
        if is_caught_up:
            self._looks[resource] = look
        elif self._asked_on is not None:
            # Transports that can send can be closed.
            self._asked_on.close()
            self._forget()
        return is_caught_up

    async def send(self, call: ApiRequest) -> bytes | None:
        """
        Send a write on the connection whose server was asked.

        Returns:
            The answer; None if that connection is closed by now, so that nothing was sent.

        Raises:
            ClusterError: As ``Client.send``.
        """
        # A proxy may close a connection after each answer: then only the last answer counts.
        is_free = self._reconnections >= _MAX_RECONNECTIONS
        self._connector.demanded = None if is_free else self._asked_on
        try:
            answer = await self._client.send(call)
        except NotSentError as error:
            if isinstance(error.__cause__, OtherConnectionError):
                self._reconnections += 1
                return None
            raise
        self._reconnections = 0
        return answer

    async def close(self) -> None:
        """
        Close the connection.
        """
        await self._session.close()

    def _forget(self) -> None:
        self._looks.clear()
        self._asked_on = None


class Lanes:
    """
    Share the lanes of one process among all that write; they are opened when they are needed.
    """

    def __init__(
        self,
        connection: Connection,
        clock: Clock,
        ask: Ask,
        *,
        max_lanes: int = MAX_LANES,
        dry_run: bool = False,
    ) -> None:
        self._connection = connection
        self._dry_run = dry_run
        self._clock = clock
        self._ask = ask
        self._all: list[Lane] = []
        # The last one used is at the right end: it is used next, so that few are open.
        self._idle: deque[Lane] = deque()
        self._turns = asyncio.Semaphore(max_lanes)
        self._looks: dict[Endpoint, int] = {}
        self._behind: dict[Endpoint, int] = {}
        self._caught_up: dict[Endpoint, int] = {}

    async def send(self, resource: Endpoint, call: ApiRequest) -> bytes:
        """
        Send a write of an object of a resource.

        Raises:
            ServerBehindError: Each connection that was tried leads to a server that is behind.
            ClusterError: As ``Client.send``.
        """
        tries = 0
        while True:
            async with self._turns:
                lane = self._idle_lane()
                # Nearly always it has: that is seen without another call.
                is_caught_up = lane.has_shown(resource, self._looks.get(resource, 0))
                try:
                    is_caught_up = is_caught_up or await self._is_caught_up(lane, resource)
                    answer = await lane.send(call) if is_caught_up else None
                finally:
                    # Others are rather used than one that has just been closed.
                    (self._idle.append if is_caught_up else self._idle.appendleft)(lane)
            if answer is not None:
                return answer
            if is_caught_up:
                continue
            tries += 1
            are_others = self._caught_up.get(resource) == self._looks.get(resource, 0)
            if tries >= (MAX_TRIES_BESIDE_OTHERS if are_others else MAX_TRIES):
                raise ServerBehindError(
                    verb=call.verb,
                    resource=call.resource,
                    reason="ServerBehind",
                    detail=f"an API server does not store version {resource.version} yet",
                )
            pause_seconds = _FIRST_PAUSE_SECONDS * 2 ** (tries - 1)
            await self._clock.sleep(min(pause_seconds, _MAX_PAUSE_SECONDS))

    async def look(self, resource: Endpoint) -> ServersSeen:
        """
        Have the server of each connection asked again before it is used, and ask some at once.

        Raises:
            ClusterError: A server does not answer.
        """
        self._looks[resource] = self._looks.get(resource, 0) + 1
        async with self._turns:
            lane = self._idle_lane()
            try:
                caught_up = [await self._is_caught_up(lane, resource)]
            finally:
                self._idle.append(lane)
        if self._behind.get(resource):
            probes = (self._probe(resource) for _ in range(1, PROBES))
            caught_up += await asyncio.gather(*probes)
        return ServersSeen(self._behind.pop(resource, 0), sum(caught_up))

    async def aclose(self) -> None:
        """
        Close all lanes.
        """
        await asyncio.gather(*(lane.close() for lane in self._all))

    async def _probe(self, resource: Endpoint) -> bool:
        lane = Lane(self._connection, self._clock, dry_run=self._dry_run)
        try:
            return await self._is_caught_up(lane, resource)
        finally:
            await lane.close()

    async def _is_caught_up(self, lane: Lane, resource: Endpoint) -> bool:
        look = self._looks.get(resource, 0)
        is_caught_up = await lane.is_caught_up(resource, look, self._ask)
        if is_caught_up:
            self._caught_up[resource] = look
        else:
            self._behind[resource] = self._behind.get(resource, 0) + 1
        return is_caught_up

    def _idle_lane(self) -> Lane:
        if self._idle:
            return self._idle.pop()
        self._all.append(Lane(self._connection, self._clock, dry_run=self._dry_run))
        return self._all[-1]
