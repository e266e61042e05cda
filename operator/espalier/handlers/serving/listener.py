"""
One HTTP server, with bounds: on connections, on their time, on methods, on the size of requests.

Whoever can reach a port must not keep the operator from its work. So a connection is for one
request, has a few seconds for all of it, and there are only so many at a time; each port counts its
own, so that one that is flooded does not silence the probes.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from aiohttp.typedefs import Middleware

MAX_CONNECTIONS = 32
"""At a time, on each port. A further one is closed at once."""

CONNECTION_SECONDS = 10.0
"""From its beginning to its end, whatever comes meanwhile."""

MAX_HEADER_BYTES = 8190

_METHODS = frozenset({"GET", "HEAD"})

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def listening(
    application: web.Application, *, port: int, host: str | None = None
) -> AsyncIterator[None]:
    """
    Serve an application; a port of 0 serves nothing.

    Args:
        host: The address; None for all.

    Raises:
        OSError: The port is not free.
    """
    if port == 0:
        yield
        return
    runner = web.AppRunner(
        application,
        access_log=None,
        shutdown_timeout=1.0,
        max_line_size=MAX_HEADER_BYTES,
        max_field_size=MAX_HEADER_BYTES,
    )
    await runner.setup()
    assert runner.server is not None  # noqa: S101 - after setup
    door = _Door(runner.server)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(door, host=host, port=port, backlog=MAX_CONNECTIONS)
    try:
        yield
    finally:
        server.close()
        await runner.cleanup()
        door.close()


def bounded_application(*inner: Middleware) -> web.Application:
    """
    Make an application that answers GET and HEAD only, and closes each connection.

    Args:
        inner: What else stands before its handlers; the first one is the outermost.
    """
    return web.Application(middlewares=[*inner, _bounded], client_max_size=1)


@web.middleware
async def _bounded(request: web.Request, handler: Handler) -> web.StreamResponse:
    if request.method not in _METHODS:
        response: web.StreamResponse = web.Response(status=405, headers={"Allow": "GET, HEAD"})
    else:
        response = await handler(request)
    response.force_close()
    return response


class _Door:
    """
    Makes the protocol of each connection, as long as there are not too many.
    """

    def __init__(self, serve: Callable[[], asyncio.Protocol]) -> None:
        self._serve = serve
        self._open: set[_Visit] = set()

    def __call__(self) -> asyncio.Protocol:
        return _Visit(self._serve(), self._open)

    def close(self) -> None:
        """
        Close what is still open.
        """
        for visit in [*self._open]:
            visit.abort()


class _Visit(asyncio.Protocol):
    """
    One connection: passes everything on, and ends it in time.
    """

    def __init__(self, inner: asyncio.Protocol, others: "set[_Visit]") -> None:
        self._inner = inner
        self._open = others
        self._transport: asyncio.BaseTransport | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if len(self._open) >= MAX_CONNECTIONS:
            _abort(transport)
            return
        self._open.add(self)
        self._transport = transport
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(CONNECTION_SECONDS, self.abort)
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        if self._transport is not None:
            self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received() if self._transport is not None else None

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._open.discard(self)
        if self._timer is not None:
            self._timer.cancel()
        if self._transport is not None:
            self._inner.connection_lost(exc)

    def abort(self) -> None:
        """
        End it now.
        """
        if self._transport is not None:
            _abort(self._transport)


def _abort(transport: asyncio.BaseTransport) -> None:
    if isinstance(transport, asyncio.WriteTransport):
        transport.abort()
    else:
        transport.close()
