"""
Kopf's handlers: each passes the event of a definition on, and returns nothing.

Only ``on.event`` on definitions, never ``on.create``, ``on.update``, a daemon or a timer: those
write annotations and finalizers. Kopf never tries an ``on.event`` handler again, so the queue
does. It reads each name anew; the labels that an event shows only serve to stop work at once.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

import kopf

from espalier.handlers.kopf_settings import harden


class Operator(Protocol):
    """
    What the handlers hand on to.
    """

    async def start(self) -> None:
        """
        Begin the work.
        """

    async def stop(self) -> None:
        """
        End all work and its tasks.
        """

    def see(self, name: str, labels: Mapping[str, str]) -> None:
        """
        Queue a definition, with the labels that an event showed.
        """


def register(
    registry: kopf.OperatorRegistry,
    operator: Operator,
    connect: Callable[[], Awaitable[kopf.AiohttpSession]],
    stop_flag: asyncio.Event | None = None,
) -> None:
    """
    Register the four handlers: login, startup, cleanup, and events of definitions.

    Args:
        registry: One of its own, or Kopf's default registry for ``kopf run``.
        connect: Makes a new session for Kopf. Kopf closes it once the server has refused it.
        stop_flag: The flag that stops Kopf, if it was given one.
    """

    @kopf.on.login(registry=registry, id="log_in")
    async def log_in(**_: Any) -> kopf.AiohttpSession:
        return await connect()

    # Permanent: what cannot be started shall be seen at once, not a minute later.
    @kopf.on.startup(registry=registry, id="start", errors=kopf.ErrorsMode.PERMANENT)
    async def begin(settings: kopf.OperatorSettings, **_: Any) -> None:
        harden(settings)
        await operator.start()

    @kopf.on.cleanup(registry=registry, id="stop", errors=kopf.ErrorsMode.PERMANENT)
    async def end(**_: Any) -> None:
        await operator.stop()
        # After a signal Kopf still has a task that waits for it, and gives that five seconds.
        if stop_flag is not None:
            stop_flag.set()

    # Not filtered by a label: then the removal of the label would cause no event.
    @kopf.on.event(
        "apiextensions.k8s.io",
        "v1",
        "customresourcedefinitions",
        registry=registry,
        id="definition_seen",
    )
    async def definition_seen(event: kopf.RawEvent, **_: Any) -> None:
        metadata = event["object"]["metadata"]
        operator.see(metadata["name"], metadata.get("labels") or {})
