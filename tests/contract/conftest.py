"""
One suite, two servers: the sandbox always, a real one for ``-m e2e``.
"""

import secrets
from collections.abc import AsyncIterator

import aiohttp
import pytest

from espalier.sandbox import Sandbox
from tests.contract.server import CRDS, Server
from tests.contract.widgets import NEW, OLD, Widgets, definition, establish, version
from tests.e2e.controlplane.running import ControlPlane


@pytest.fixture(params=["sandbox", pytest.param("control_plane", marks=pytest.mark.e2e)])
async def server(request: pytest.FixtureRequest) -> AsyncIterator[Server]:
    group = f"t{secrets.token_hex(4)}.example.com"
    if request.param == "sandbox":
        async with Sandbox() as sandbox, aiohttp.ClientSession() as session:
            yield Server(
                url=sandbox.url, raw=sandbox, session=session, ssl_context=True, group=group
            )
        return
    plane: ControlPlane = request.getfixturevalue("control_plane")
    headers = {"Authorization": f"Bearer {plane.token}"}
    async with aiohttp.ClientSession(headers=headers) as session:
        made = Server(
            url=plane.url,
            raw=plane,
            session=session,
            ssl_context=plane.ssl_context,
            group=group,
        )
        yield made
        for name in made.created:
            await made.call("DELETE", f"{CRDS}/{name}")


@pytest.fixture
async def widgets(server: Server) -> Widgets:
    crd = definition(server.group, version("v1alpha1", OLD, storage=True), version("v1", NEW))
    await establish(server, crd)
    return Widgets(server=server)
