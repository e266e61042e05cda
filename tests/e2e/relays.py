"""
Relays on loopback: one to etcd that can be frozen, and one to API servers that chooses by path.
"""

import contextlib
import socket
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.e2e.controlplane.api import Api

_PIECE_BYTES = 64 * 1024
_HEADERS = ("Accept", "Content-Type")


class FreezableRelay:
    """
    Forward every connection to a port; those on which a text was sent can be frozen.
    """

    def __init__(self, port: int, text: bytes) -> None:
        self._port = port
        self._text = text
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._flows = threading.Event()
        self._flows.set()
        self._pairs: list[_Pair] = []
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def freeze(self) -> None:
        """
        Forward nothing more on these connections; they stay open.
        """
        self._flows.clear()

    def thaw(self) -> None:
        """
        Close the connections that were frozen, and forward new ones.
        """
        for pair in self._pairs:
            if pair.is_marked:
                pair.end()
        self._flows.set()

    def close(self) -> None:
        """
        End everything.
        """
        self._listener.close()
        for pair in self._pairs:
            pair.end()
        self._flows.set()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            pair = _Pair(client, socket.create_connection(("127.0.0.1", self._port)))
            self._pairs.append(pair)
            for copy in (self._copy_requests, self._copy_responses):
                threading.Thread(target=copy, args=(pair,), daemon=True).start()

    def _copy_requests(self, pair: "_Pair") -> None:
        with contextlib.suppress(OSError):
            while piece := pair.client.recv(_PIECE_BYTES):
                pair.is_marked = pair.is_marked or self._text in piece
                self._wait(pair)
                pair.server.sendall(piece)
        pair.end()

    def _copy_responses(self, pair: "_Pair") -> None:
        with contextlib.suppress(OSError):
            while piece := pair.server.recv(_PIECE_BYTES):
                self._wait(pair)
                pair.client.sendall(piece)
        pair.end()

    def _wait(self, pair: "_Pair") -> None:
        if pair.is_marked:
            self._flows.wait()


@dataclass
class _Pair:
    client: socket.socket
    server: socket.socket
    is_marked: bool = False

    def end(self) -> None:
        for each in (self.client, self.server):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


@asynccontextmanager
async def routing(choose: Callable[[str], Api]) -> AsyncIterator[str]:
    """
    Send each request to the API server that is chosen by its path; yield the URL.
    """

    async def answer(request: web.Request) -> web.Response:
        api = choose(request.path)
        headers = api.headers | {
            name: request.headers[name] for name in _HEADERS if name in request.headers
        }
        url = f"{api.url}{request.path_qs}"
        async with session.request(
            request.method, url, data=await request.read(), headers=headers, ssl=api.ssl_context
        ) as response:
            return web.Response(
                status=response.status,
                body=await response.read(),
                content_type=response.content_type,
            )

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    async with aiohttp.ClientSession() as session:
        server = TestServer(app)
        await server.start_server()
        try:
            yield str(server.make_url("")).rstrip("/")
        finally:
            await server.close()
