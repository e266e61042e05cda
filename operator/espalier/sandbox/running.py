"""
The sandbox: server, store and controllers, on a free port of the loopback interface.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import orjson
from aiohttp import web

from espalier.sandbox.catalogue import CodecCatalogue
from espalier.sandbox.controllers import Controllers
from espalier.sandbox.faults import Faults
from espalier.sandbox.kinds import NAMESPACES
from espalier.sandbox.serving import Request, Server
from espalier.sandbox.store import Store
from espalier.sandbox.watching import Watching
from espalier.sandbox.wire import encode
from espalier.sandbox.writing import utc_now

_KEPT_CHANGES = 100_000
_BOOKMARK_SECONDS = 60.0
_NAMESPACES = ("default", "kube-system")


class Sandbox:
    """
    An API server in memory for definitions and their objects; not a cluster.

    Use it as an asynchronous context manager. It runs in the event loop that enters it.

    Args:
        structural_delay_seconds: The delay from a new generation of a definition until the server
            writes ``NonStructuralSchema``; None turns it off, as on servers without it.
        kept_changes: The number of past changes that watches and pages can use.
        bookmark_seconds: The time between two bookmarks of a watch.
        namespaces: The namespaces that exist at the start.

    Attributes:
        faults: The faults for tests.
    """

    def __init__(
        self,
        *,
        structural_delay_seconds: float | None = 0.0,
        kept_changes: int = _KEPT_CHANGES,
        bookmark_seconds: float = _BOOKMARK_SECONDS,
        namespaces: Sequence[str] = _NAMESPACES,
    ) -> None:
        self._store = Store(kept_changes=kept_changes)
        catalogue = CodecCatalogue(self._store)
        self.faults = Faults()
        watching = Watching(self._store, catalogue, self.faults, bookmark_seconds=bookmark_seconds)
        self._server = Server(self._store, catalogue, self.faults, watching)
        self._controllers = Controllers(
            self._store, catalogue, structural_delay_seconds=structural_delay_seconds
        )
        self._runner: web.AppRunner | None = None
        self._following: asyncio.Task[None] | None = None
        self._url = ""
        for name in namespaces:
            self._add_namespace(name)

    async def __aenter__(self) -> Self:
        self._runner = web.AppRunner(
            self._server.application(), access_log=None, shutdown_timeout=0.1
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self._url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        self._following = asyncio.create_task(self._controllers.run(), name="sandbox-controllers")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.faults.clear()
        self.faults.close_watches()
        if self._following is not None:
            self._following.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._following
        if self._runner is not None:
            await self._runner.cleanup()

    @property
    def url(self) -> str:
        """
        The base URL, without a trailing slash.
        """
        return self._url

    @property
    def log(self) -> list[Request]:
        """
        All requests so far, in the order of their responses; a watch is added when it ends.
        """
        return self._server.log

    def kubeconfig(self) -> str:
        """
        Return a kubeconfig, as YAML.
        """
        # JSON is YAML, and every client reads it.
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "sandbox", "cluster": {"server": self.url}}],
            "users": [{"name": "sandbox", "user": {"token": "sandbox"}}],
            "contexts": [{"name": "sandbox", "context": {"cluster": "sandbox", "user": "sandbox"}}],
            "current-context": "sandbox",
        }
        return orjson.dumps(content, option=orjson.OPT_INDENT_2).decode()

    def raw_get(self, key: str) -> bytes | None:
        """
        Return the value of a key such as ``/registry/example.com/widgets/default/a``.

        Definitions are stored as v1 here, and as v1beta1 in a real etcd.
        """
        stored = self._store.get(key)
        return None if stored is None else stored.value

    def raw_put(self, key: str, value: bytes) -> None:
        """
        Store bytes without any checks, as is possible with access to etcd.
        """
        self._store.put(key, value)

    def expire_the_past(self) -> None:
        """
        Compact the store: all present continue tokens and resource versions expire.
        """
        self._store.compact()

    def _add_namespace(self, name: str) -> None:
        metadata = {
            "name": name,
            "uid": f"00000000-0000-4000-8000-{len(name):012d}",
            "creationTimestamp": utc_now(),
            "labels": {"kubernetes.io/metadata.name": name},
        }
        namespace = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": metadata,
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"},
        }
        self._store.put(NAMESPACES.key("", name), encode(namespace))
