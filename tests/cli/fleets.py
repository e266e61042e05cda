"""
Several clusters in one kubeconfig: sandboxes, one that is down, one that never answers.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from click.testing import CliRunner, Result

from espalier import cluster
from espalier.cli import main
from espalier.cli.demo.stage import CRDS, Stage
from espalier.sandbox import Sandbox
from tests.cli.manifests import WIDGETS
from tests.cli.stages import SandboxStore

NOWHERE = "http://127.0.0.1:1"
"""A port that is never open."""


@dataclass
class FleetOfSandboxes:
    """
    The clusters, and the kubeconfig with a context for each.
    """

    file: Path
    sandboxes: dict[str, Sandbox] = field(default_factory=dict)
    servers: dict[str, dict[str, Any]] = field(default_factory=dict)
    users: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add(self, name: str, server: dict[str, Any], user: dict[str, Any] | None = None) -> None:
        """
        Add a context; in a kubeconfig, ``server`` is a cluster and ``user`` is a user.
        """
        self.servers[name], self.users[name] = server, user or {"token": "sandbox"}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": n, "cluster": one} for n, one in self.servers.items()],
            "users": [{"name": n, "user": one} for n, one in self.users.items()],
            "contexts": [{"name": n, "context": {"cluster": n, "user": n}} for n in self.servers],
        }
        self.file.write_text(json.dumps(content), encoding="utf-8")

    async def run(self, *arguments: str) -> Result:
        """
        Run a command that takes ``--kubeconfig``.
        """
        command = [*arguments, "--kubeconfig", str(self.file)]
        return await asyncio.to_thread(CliRunner().invoke, main, command)


@asynccontextmanager
async def fleet_of(*names: str, manifest: str = WIDGETS) -> AsyncIterator[FleetOfSandboxes]:
    """
    Start a sandbox for each name, with one definition.
    """
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory())
        fleet = FleetOfSandboxes(Path(folder, "kubeconfig"))
        for name in names:
            sandbox = await stack.enter_async_context(Sandbox())
            fleet.sandboxes[name] = sandbox
            fleet.add(name, {"server": sandbox.url})
            alone = Path(folder, f"{len(fleet.servers)}.kubeconfig")
            await asyncio.to_thread(alone.write_text, sandbox.kubeconfig())
            async with cluster.connect(alone) as connected:
                stage = Stage(connected.client, SandboxStore(sandbox), connected.archive("default"))
                await stage.create(CRDS, yaml.safe_load(manifest))
        yield fleet


@asynccontextmanager
async def never_answering() -> AsyncIterator[str]:
    """
    Listen, and answer nothing: the URL.
    """
    gone = asyncio.Event()

    async def hold(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await gone.wait()
        writer.close()

    server = await asyncio.start_server(hold, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        gone.set()
        server.close()
