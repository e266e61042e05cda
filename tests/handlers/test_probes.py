import pytest
from aiohttp import ClientSession
from aiohttp.test_utils import TestServer, unused_port

from espalier.handlers.probes import application, probes

pytestmark = pytest.mark.real_time


@pytest.mark.parametrize(("ready", "status"), [(False, 503), (True, 200)])
async def test_readiness_follows_the_first_listing_and_health_does_not(
    *, ready: bool, status: int
) -> None:
    async with TestServer(application(lambda: ready)) as server, ClientSession() as session:
        async with session.get(server.make_url("/readyz")) as answer:
            assert answer.status == status
        async with session.get(server.make_url("/healthz")) as answer:
            assert answer.status == 200


async def test_probes_are_served_on_the_port_that_is_given() -> None:
    port = unused_port()

    async with (
        probes(port=port, is_ready=lambda: True),
        ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}/healthz") as answer,
    ):
        assert await answer.text() == "ok\n"
