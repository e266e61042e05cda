"""
Opens the ports: probes for the kubelet, metrics for Prometheus, the page for people.
"""

import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from espalier.errors import ConfigurationError
from espalier.handlers.serving.listener import listening
from espalier.handlers.serving.metrics import metrics_application
from espalier.handlers.serving.probes import probe_application
from espalier.handlers.settings import Settings
from espalier.observe.metrics import Sources, registry_of


def check_ports(settings: Settings) -> None:
    """
    Check that the ports can be opened, before anything else starts.

    Raises:
        ConfigurationError: One is in use, or may not be opened, or two are the same.
    """
    seen: dict[int, str] = {}
    for name in ("probe_port", "metrics_port", "page_port"):
        port: int = getattr(settings, name)
        if not port:
            continue
        if port in seen:
            raise ConfigurationError(f"{seen[port]} and {name} are both {port}")
        seen[port] = name
        try:
            socket.create_server(("", port)).close()
        except OSError as error:
            why = os.strerror(error.errno or 0)
            raise ConfigurationError(f"{name}: cannot open {port}: {why}") from error


def serving(
    settings: Settings, sources: Sources
) -> Callable[[Callable[[], bool]], AbstractAsyncContextManager[None]]:
    """
    Make what serves all that the settings ask for.

    Returns:
        Takes what reports whether all definitions have been listed once.
    """

    @asynccontextmanager
    async def serve(is_ready: Callable[[], bool]) -> AsyncIterator[None]:
        async with AsyncExitStack() as opened:
            # All addresses: the kubelet and Prometheus ask on the pod's, not on loopback.
            probes = probe_application(is_ready, lambda: sources.buckets.is_paused)
            await opened.enter_async_context(listening(probes, port=settings.probe_port))
            metrics = metrics_application(registry_of(sources))
            await opened.enter_async_context(listening(metrics, port=settings.metrics_port))
            if settings.page_port:
                await opened.enter_async_context(_page(settings, sources))
            yield

    return serve


def _page(settings: Settings, sources: Sources) -> AbstractAsyncContextManager[None]:
    # Loaded only where it is served: templates take memory.
    from espalier.handlers.serving.page import page_application  # noqa: PLC0415

    is_local = not settings.page_without_access_control
    app = page_application(
        sources.recorder.snapshot, is_local=is_local, with_messages=settings.page_messages
    )
    return listening(app, port=settings.page_port, host="127.0.0.1" if is_local else None)
