"""
Answers the kubelet: ``/healthz`` while the operator lives, ``/readyz`` once it has seen the CRDs.

The troubles of one CRD, or of the API server, are no reason to start the operator anew, so
neither looks at them.
"""

from collections.abc import Callable

from aiohttp import web

from espalier.handlers.serving.listener import bounded_application


def probe_application(
    is_ready: Callable[[], bool], is_paused: Callable[[], bool] = lambda: False
) -> web.Application:
    """
    Make the web application of the probes.

    Args:
        is_ready: Whether all definitions have been listed once.
        is_paused: Whether the operator writes nothing; it is ready for that.
    """

    async def healthz(_: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(_: web.Request) -> web.Response:
        if is_ready():
            return web.Response(text="ok, but paused\n" if is_paused() else "ok\n")
        return web.Response(status=503, text="the definitions have not been listed yet\n")

    app = bounded_application()
    app.router.add_get("/healthz", healthz)
    app.router.add_get("/readyz", readyz)
    return app
