"""
Run the demo: start the API server and the operator, then play the chapters one by one.
"""

import asyncio
import socket
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from espalier import cluster
from espalier.cli.demo.operator_thread import operator_running
from espalier.cli.demo.player import Player
from espalier.cli.demo.screen import Ending, Screen
from espalier.cli.demo.stage import EtcdGateway, RawStore, Stage
from espalier.cli.demo.story import GROUP, STORY, name_of
from espalier.cli.output.error_exits import IncompleteError
from espalier.cluster.auth.connection import Connection
from espalier.cluster.auth.credentials import FixedSource
from espalier.handlers.settings import Settings
from espalier.sandbox import Sandbox

SETTLE_SECONDS = 2.0
_SETTINGS = Settings(
    settle_seconds=SETTLE_SECONDS, structural_grace_seconds=2.0, progress_seconds=0.2
)
_SANDBOX_PATIENCE_SECONDS, _REAL_PATIENCE_SECONDS = 20.0, 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RealCluster:
    """
    A control plane that the demo may change.

    Attributes:
        kubeconfig: The kubeconfig file for its API server.
        etcd: The URL of its etcd, without TLS.
    """

    kubeconfig: str
    etcd: str


class _SandboxStore:
    """
    Read and write the sandbox's storage directly.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def read(self, key: str) -> bytes | None:
        return self._sandbox.raw_get(key)

    async def write(self, key: str, value: bytes) -> None:
        self._sandbox.raw_put(key, value)


@dataclass(frozen=True, slots=True, kw_only=True)
class _DemoCluster:
    kubeconfig: Path
    store: RawStore
    about: str
    patience_seconds: float


async def direct(screen: Screen, *, real: RealCluster | None, keep: bool) -> None:
    """
    Play all chapters.

    Args:
        real: The control plane to use; None starts a sandbox.
        keep: Whether to keep running afterwards, until interrupted.

    Raises:
        IncompleteError: A chapter did not end as expected.
        ClusterError: The API server of ``real`` cannot be reached.
        ConfigurationError: The kubeconfig of ``real`` is not usable.
    """
    async with AsyncExitStack() as stack:
        place = await stack.enter_async_context(_sandbox() if real is None else _real(real))
        connected = await stack.enter_async_context(cluster.connect(place.kubeconfig))
        archive = connected.archive(_SETTINGS.namespace)
        stage = Stage(connected.client, place.store, archive)
        screen.say(place.about)
        screen.say(
            f"The real operator works on it. It waits {SETTLE_SECONDS:.0f} s for changes to settle,"
            " instead of 30 s, to keep the demo short."
        )
        await _prepare(stage)
        settings = _SETTINGS
        if keep:
            settings = replace(_SETTINGS, page_port=_free_port())
            screen.say(f"Its page is at http://127.0.0.1:{settings.page_port}/")
        operator = await stack.enter_async_context(operator_running(place.kubeconfig, settings))
        story = asyncio.create_task(_play(stage, screen, place.patience_seconds))
        await _finish_first(story, operator)
        screen.summary(story.result())
        if keep:
            _invite(screen, place.kubeconfig)
            await operator
            raise IncompleteError("the operator stopped unexpectedly")


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


async def _finish_first(
    story: "asyncio.Task[list[Ending]]", operator: "asyncio.Task[None]"
) -> None:
    try:
        await asyncio.wait([story, operator], return_when=asyncio.FIRST_COMPLETED)
    finally:
        if not story.done():
            story.cancel()
            await asyncio.wait([story])
    if operator.done():
        # The operator ends only with an error, which explains more than the story's failure.
        await operator
        raise IncompleteError("the operator stopped unexpectedly")


async def _play(stage: Stage, screen: Screen, patience_seconds: float) -> list[Ending]:
    endings = []
    for number, chapter in enumerate(STORY, 1):
        screen.heading(number, chapter.title, name_of(chapter.plural))
        player = Player(chapter, stage, screen, patience_seconds=patience_seconds)
        endings.append(await player.play())
    return endings


async def _prepare(stage: Stage) -> None:
    await stage.ensure_namespace("default")
    await stage.ensure_namespace(_SETTINGS.namespace)
    for chapter in STORY:
        name = name_of(chapter.plural)
        if await stage.has_definition(name):
            raise IncompleteError(f"{name} exists already: the demo needs a cluster of its own")


@asynccontextmanager
async def _sandbox() -> AsyncIterator[_DemoCluster]:
    # The sandbox's own controller is off, so that Espalier writes NonStructuralSchema.
    async with Sandbox(structural_delay_seconds=None) as sandbox:
        with tempfile.TemporaryDirectory(prefix="espalier-demo-") as folder:
            kubeconfig = Path(folder, "kubeconfig")
            await asyncio.to_thread(kubeconfig.write_text, sandbox.kubeconfig(), encoding="utf-8")
            yield _DemoCluster(
                kubeconfig=kubeconfig,
                store=_SandboxStore(sandbox),
                about=f"This is a sandbox, an API server in memory, at {sandbox.url}.",
                patience_seconds=_SANDBOX_PATIENCE_SECONDS,
            )


@asynccontextmanager
async def _real(real: RealCluster) -> AsyncIterator[_DemoCluster]:
    etcd = Connection(
        server=real.etcd, tls=None, credentials=FixedSource(None), origin="the demo's etcd"
    )
    async with cluster.connect_to(etcd, cluster.SystemClock()) as gateway:
        yield _DemoCluster(
            kubeconfig=Path(real.kubeconfig),
            store=EtcdGateway(gateway.client),
            about=f"This is a real API server, of {real.kubeconfig}.",
            patience_seconds=_REAL_PATIENCE_SECONDS,
        )


def _invite(screen: Screen, kubeconfig: Path) -> None:
    screen.invite(
        "The API server runs until you press Ctrl-C. In another terminal:",
        f"export KUBECONFIG={kubeconfig}",
        f"kubectl get crd,trees.{GROUP}",
    )
