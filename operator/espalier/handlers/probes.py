"""
Answers the kubelet: ``/healthz`` while the operator lives, ``/readyz`` once it has seen the CRDs.

The troubles of one CRD, or of the API server, are no reason to start the operator anew, so
neither looks at them.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web


@asynccontextmanager
async def probes(*, port: int, is_ready: Callable[[], bool]) -> AsyncIterator[None]:
    """
    Serve the probes on all addresses; a port of 0 serves nothing.

    Args:
        is_ready: Whether all definitions have been listed once.
    """
    if port == 0:
        yield
        return
    runner = web.AppRunner(application(is_ready), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        # All addresses: the kubelet asks on the pod's, not on loopback.
        await web.TCPSite(runner, port=port).start()
        yield
    finally:
        await runner.cleanup()


def application(is_ready: Callable[[], bool]) -> web.Application:
    """
    Make the web application of the probes.
    """

    async def healthz(_: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(_: web.Request) -> web.Response:
        if is_ready():
            return web.Response(text="ok\n")
        return web.Response(status=503, text="the definitions have not been listed yet\n")

    app = web.Application()
    app.router.add_get("/healthz", healthz)
    app.router.add_get("/readyz", readyz)
    return app
