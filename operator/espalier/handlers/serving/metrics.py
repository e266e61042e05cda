"""
Serves ``/metrics`` to Prometheus.
"""

import gzip

from aiohttp import web
from prometheus_client.registry import CollectorRegistry

from espalier.handlers.serving.freshness import Fresh
from espalier.handlers.serving.listener import bounded_application
from espalier.observe.metrics import CONTENT_TYPE, exposition


def metrics_application(registry: CollectorRegistry) -> web.Application:
    """
    Make the web application of the metrics.
    """
    current = Fresh(lambda: exposition(registry))

    # Names of definitions stand in many lines each.
    packed = Fresh(lambda: gzip.compress(current()))

    async def metrics(request: web.Request) -> web.Response:
        headers = {"Content-Type": CONTENT_TYPE, "Vary": "Accept-Encoding"}
        if "gzip" not in request.headers.get("Accept-Encoding", ""):
            return web.Response(body=current(), headers=headers)
        return web.Response(body=packed(), headers={**headers, "Content-Encoding": "gzip"})

    app = bounded_application()
    app.router.add_get("/metrics", metrics)
    return app
