"""
Serves ``/metrics`` to Prometheus.
"""

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

    async def metrics(_: web.Request) -> web.Response:
        response = web.Response(body=current(), headers={"Content-Type": CONTENT_TYPE})
        # Names of definitions stand in many lines each.
        response.enable_compression()
        return response

    app = bounded_application()
    app.router.add_get("/metrics", metrics)
    return app
