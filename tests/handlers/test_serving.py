"""
The ports of the operator: what they answer, and what they refuse.
"""

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer, unused_port

from espalier.errors import ConfigurationError
from espalier.handlers.serving import freshness, listener
from espalier.handlers.serving.listener import bounded_application, listening
from espalier.handlers.serving.page import page_application
from espalier.handlers.serving.probes import probe_application
from espalier.handlers.serving.servers import check_ports
from espalier.handlers.settings import Settings
from espalier.observe.recorder import Recorder
from espalier.observe.state import Snapshot
from tests.observe.states import StillClock
from tests.patience import PACE

pytestmark = pytest.mark.real_time

PATIENCE_SECONDS = 20.0


@asynccontextmanager
async def served(app: web.Application) -> AsyncIterator[int]:
    port = unused_port()
    async with listening(app, port=port, host="127.0.0.1"):
        yield port


async def raw(port: int, request: bytes) -> bytes:
    """
    Send bytes, and read what comes until the connection ends.
    """
    async with asyncio.timeout(PACE.scaled(PATIENCE_SECONDS)):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request)
        try:
            return await reader.read()
        except ConnectionError:
            return b""
        finally:
            writer.close()


@pytest.mark.parametrize(("ready", "status"), [(False, 503), (True, 200)])
async def test_readiness_follows_the_first_listing_and_health_does_not(
    *, ready: bool, status: int
) -> None:
    async with TestServer(probe_application(lambda: ready)) as server, ClientSession() as session:
        async with session.get(server.make_url("/readyz")) as answer:
            assert answer.status == status
        async with session.get(server.make_url("/healthz")) as answer:
            assert answer.status == 200


async def test_a_paused_operator_is_ready_and_the_probe_shows_it() -> None:
    app = probe_application(lambda: True, lambda: True)
    async with (
        TestServer(app) as server,
        ClientSession() as session,
        session.get(server.make_url("/readyz")) as answer,
    ):
        assert (answer.status, await answer.text()) == (200, "ok, but paused\n")


async def test_probes_are_served_on_the_port_that_is_given() -> None:
    async with served(probe_application(lambda: True)) as port, ClientSession() as session:
        for _ in range(3):
            async with session.get(f"http://127.0.0.1:{port}/healthz") as answer:
                assert await answer.text() == "ok\n"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
async def test_nothing_but_get_and_head_is_answered(method: str) -> None:
    async with served(probe_application(lambda: True)) as port, ClientSession() as session:
        async with session.request(method, f"http://127.0.0.1:{port}/healthz") as answer:
            assert answer.status == 405
            assert answer.headers["Allow"] == "GET, HEAD"
        async with session.head(f"http://127.0.0.1:{port}/healthz") as answer:
            assert answer.status == 200


async def test_a_request_that_never_ends_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "CONNECTION_SECONDS", 0.2)
    async with served(probe_application(lambda: True)) as port:
        assert await raw(port, b"") == b""
        assert await raw(port, b"GET /healthz HTTP/1.1\r\nHost: x\r\n") == b""


async def test_a_header_without_an_end_is_refused() -> None:
    async with served(probe_application(lambda: True)) as port:
        answer = await raw(port, b"GET /healthz HTTP/1.1\r\nX: " + b"a" * 20_000 + b"\r\n\r\n")

    assert answer.startswith((b"HTTP/1.1 400", b"HTTP/1.0 400"))


async def test_a_flood_of_connections_is_bounded_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "CONNECTION_SECONDS", 1.0)
    monkeypatch.setattr(listener, "MAX_CONNECTIONS", 4)
    async with served(probe_application(lambda: True)) as port:
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(4)]
        refused = await raw(port, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        for reader, writer in silent:
            async with asyncio.timeout(PACE.scaled(PATIENCE_SECONDS)):
                await asyncio.gather(reader.read(), return_exceptions=True)
            writer.close()
        answered = await raw(port, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")

    assert refused == b""
    assert answered.startswith(b"HTTP/1.1 200")


def page(**options: bool) -> web.Application:
    settings = {"is_local": True, "with_messages": False} | options
    return page_application(Recorder(StillClock()).snapshot, **settings)


@pytest.mark.parametrize("host", ["localhost:8082", "127.0.0.1:1", "[::1]:8082", "LOCALHOST"])
async def test_the_page_is_served_to_loopback(host: str) -> None:
    async with served(page()) as port, ClientSession() as session:
        url = f"http://127.0.0.1:{port}/"
        async with session.get(url, headers={"Host": host}) as answer:
            assert answer.status == 200
            assert answer.content_type == "text/html"


@pytest.mark.parametrize("host", ["example.com", "127.0.0.1.example.com", "10.0.0.1:8082", "", "@"])
@pytest.mark.parametrize("path", ["/", "/style.css", "/definitions/x", "/elsewhere"])
async def test_a_foreign_host_is_refused(host: str, path: str) -> None:
    async with served(page()) as port:
        request = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        answer = await raw(port, request.encode())

    assert answer.split(b" ", 2)[1] in (b"421", b"400")


async def test_on_all_addresses_any_host_may_ask() -> None:
    async with served(page(is_local=False)) as port, ClientSession() as session:
        url = f"http://127.0.0.1:{port}/"
        async with session.get(url, headers={"Host": "espalier.example.com"}) as answer:
            assert answer.status == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 200),
        ("GET", "/style.css", 200),
        ("GET", "/definitions/none.example.com", 404),
        ("GET", "/elsewhere", 404),
        ("POST", "/", 405),
        ("PUT", "/style.css", 405),
        ("DELETE", "/definitions/x", 405),
    ],
)
async def test_every_answer_of_the_page_has_the_headers_that_guard_it(
    method: str, path: str, status: int
) -> None:
    async with (
        served(page()) as port,
        ClientSession() as session,
        session.request(method, f"http://127.0.0.1:{port}{path}") as answer,
    ):
        assert answer.status == status
        headers = answer.headers

    policy = headers["Content-Security-Policy"]
    assert {part.strip() for part in policy.split(";")} == {
        "default-src 'none'",
        "style-src 'self'",
        "img-src 'self' data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    }
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"
    assert "Set-Cookie" not in headers


async def test_a_flood_of_requests_makes_one_page_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    # No second may pass in the test, however slow the machine is.
    monkeypatch.setattr(freshness, "FRESH_SECONDS", 1e6)
    recorder, made = Recorder(StillClock()), []

    def snapshot() -> Snapshot:
        made.append(1)
        return recorder.snapshot()

    app = page_application(snapshot, is_local=True, with_messages=False)
    async with served(app) as port, ClientSession() as session:
        for path in ("/", "/", "/definitions/x", "/"):
            async with session.get(f"http://127.0.0.1:{port}{path}") as answer:
                await answer.read()

    assert made == [1]


async def test_what_was_made_a_second_ago_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freshness, "FRESH_SECONDS", 0.0)
    numbers = iter(range(3))
    fresh = freshness.Fresh(lambda: next(numbers))

    assert [fresh(), fresh(), fresh()] == [0, 1, 2]


def test_a_port_that_is_in_use_is_reported_in_one_line() -> None:
    with socket.create_server(("", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError) as refused:
            check_ports(Settings(metrics_port=port))

    assert str(refused.value) == f"metrics_port: cannot open {port}: Address already in use"


def test_two_ports_cannot_be_the_same() -> None:
    port = unused_port()
    with pytest.raises(ConfigurationError) as refused:
        check_ports(Settings(probe_port=port, page_port=port))

    assert str(refused.value) == f"probe_port and page_port are both {port}"


async def test_what_is_slow_to_answer_does_not_outlive_the_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Otherwise the time limit of a connection would end it.
    monkeypatch.setattr(listener, "CONNECTION_SECONDS", 3600.0)
    app = bounded_application()

    async def hang(_: web.Request) -> web.Response:
        await asyncio.Event().wait()
        return web.Response()

    app.router.add_get("/", hang)
    begun = time.monotonic()
    async with served(app) as port:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await writer.drain()

    writer.close()
    assert time.monotonic() - begun < PACE.scaled(PATIENCE_SECONDS)
