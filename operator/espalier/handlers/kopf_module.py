"""
The operator for Kopf's own command: ``kopf run --standalone -A -m espalier.handlers.kopf_module``.

Importing this module registers the four handlers in Kopf's default registry, as ``kopf run``
expects. The settings are those of ``espalier operator``, from the environment alone. Nothing of
Espalier may import this module.
"""

import os
import signal
import threading
from collections.abc import Mapping
from contextlib import AsyncExitStack

import kopf

from espalier.cluster import Cluster, connect
from espalier.errors import EspalierError
from espalier.handlers.application import Espalier
from espalier.handlers.registry import register
from espalier.handlers.serving.servers import check_ports
from espalier.handlers.settings import Settings, read_settings
from espalier.handlers.startup import assemble, preflight, session_of, workers_of
from espalier.handlers.tasks import Guard


class KopfOperator:
    """
    Connects and assembles the operator when Kopf starts; see ``registry.Operator``.
    """

    # Set when Kopf starts: it logs in, watches and cleans up after that only.
    _cluster: Cluster
    _espalier: Espalier
    _guard: Guard
    _open: AsyncExitStack

    async def start(self) -> None:
        """
        Read the settings, connect to the API server, and begin the work.

        Raises:
            kopf.PermanentError: A setting or the kubeconfig is not usable, the API server cannot
                be reached, or it refuses to list definitions. Kopf logs the message and exits.
        """
        try:
            await self._connect(read_settings(os.environ))
        except EspalierError as error:
            raise kopf.PermanentError(str(error)) from error

    async def log_in(self) -> kopf.AiohttpSession:
        """
        Open a session for Kopf to the same API server, as the same user.
        """
        return session_of(self._cluster)

    async def stop(self) -> None:
        """
        End the work and close the connection.

        Raises:
            Exception: The bug that ended a task; Kopf's exit code is then not 0.
        """
        await self._espalier.stop()
        await self._open.aclose()
        if self._guard.failure is not None:
            raise self._guard.failure

    def see(self, name: str, labels: Mapping[str, str]) -> None:
        """
        Queue a definition, with the labels that an event showed.
        """
        self._espalier.see(name, labels)

    async def _connect(self, settings: Settings) -> None:
        async with AsyncExitStack() as opened:
            self._cluster = await opened.enter_async_context(connect())
            check_ports(settings)
            await preflight(self._cluster)
            self._guard = Guard(_stop_kopf)
            workers = await opened.enter_async_context(workers_of(settings))
            self._espalier = assemble(settings, self._cluster, self._guard, workers)
            await self._espalier.start()
            self._open = opened.pop_all()


def _stop_kopf() -> None:
    # `kopf run` takes no stop flag, but it stops on a signal. It handles signals in the main
    # thread only; in another one, as in KopfRunner, the signal would kill the process.
    if threading.current_thread() is threading.main_thread():
        signal.raise_signal(signal.SIGTERM)


_operator = KopfOperator()
register(kopf.get_default_registry(), _operator, _operator.log_in)
