"""
Kopf's handlers: each takes what Kopf says, hands it on, and returns nothing.

Only ``on.event`` on definitions, never ``on.create``, ``on.update``, a daemon or a timer: those
write annotations and finalizers. Kopf never tries an ``on.event`` handler again, so the queue
does. It reads each name anew; the labels that an event shows only serve to stop work at once.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

import kopf


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
        End the work, and whatever was started for it.
        """

    def see(self, name: str, labels: Mapping[str, str]) -> None:
        """
        Have a definition looked at anew, with the labels that an event showed.
        """


def registry_of(
    operator: Operator,
    connect: Callable[[], Awaitable[kopf.AiohttpSession]],
    stop_flag: asyncio.Event,
) -> kopf.OperatorRegistry:
    """
    Register the handlers in a registry of their own; there is no global one.

    Args:
        connect: Makes a new session for Kopf, which closes it when it was refused once.
        stop_flag: The flag that Kopf was given to be stopped by.
    """
    registry = kopf.OperatorRegistry()

    @kopf.on.login(registry=registry)
    async def log_in(**_: Any) -> kopf.AiohttpSession:
        return await connect()

    # Permanent: what cannot be started shall be seen at once, not a minute later.
    @kopf.on.startup(registry=registry, errors=kopf.ErrorsMode.PERMANENT)
    async def begin(**_: Any) -> None:
        await operator.start()

    @kopf.on.cleanup(registry=registry, errors=kopf.ErrorsMode.PERMANENT)
    async def end(**_: Any) -> None:
        await operator.stop()
        # After a signal Kopf still has a task that waits for it, and gives that five seconds.
        stop_flag.set()

    # Not filtered by a label: then it would not be told that the label went.
    @kopf.on.event("apiextensions.k8s.io", "v1", "customresourcedefinitions", registry=registry)
    async def definition_seen(event: kopf.RawEvent, **_: Any) -> None:
        metadata = event["object"]["metadata"]
        operator.see(metadata["name"], metadata.get("labels") or {})

    return registry
