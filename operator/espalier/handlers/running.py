"""
Puts the operator together and runs it under Kopf until it is told to stop.
"""

import asyncio
from importlib.metadata import version

import kopf

from espalier.cluster.connecting import Connection
from espalier.cluster.session import open_session
from espalier.handlers.hardening import harden

KOPF_USER_AGENT = f"kopf/{version('kopf')}"
"""By this the audit log tells Kopf's requests; none of them may change anything."""


async def run_under_kopf(
    registry: kopf.OperatorRegistry,
    *,
    stop_flag: asyncio.Event,
    ready_flag: asyncio.Event | None = None,
) -> None:
    """
    Run a registry's handlers until the flag is set, or a signal comes in the main thread.
    """
    settings = kopf.OperatorSettings()
    harden(settings)
    await kopf.operator(
        registry=registry,
        settings=settings,
        standalone=True,
        clusterwide=True,
        stop_flag=stop_flag,
        ready_flag=ready_flag,
    )


async def session_of_kopf(connection: Connection) -> kopf.AiohttpSession:
    """
    Open a session for Kopf, which closes it; any number of connections, as each watch holds one.
    """
    session = open_session(connection, user_agent=KOPF_USER_AGENT, max_connections=0)
    return kopf.AiohttpSession(server=connection.server, aiohttp_session=session)
