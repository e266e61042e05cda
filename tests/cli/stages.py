"""
A stage without a play: the sandbox, for the demo's parts.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from espalier import cluster
from espalier.cli.demo.stage import Stage
from espalier.sandbox import Sandbox


class SandboxStore:
    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def read(self, key: str) -> bytes | None:
        return self._sandbox.raw_get(key)

    async def write(self, key: str, value: bytes) -> None:
        self._sandbox.raw_put(key, value)


@asynccontextmanager
async def sandbox_and_kubeconfig(
    structural_delay_seconds: float | None = 0.0,
) -> AsyncIterator[tuple[Sandbox, Path]]:
    with TemporaryDirectory() as folder:
        async with Sandbox(structural_delay_seconds=structural_delay_seconds) as sandbox:
            file = Path(folder, "kubeconfig")
            await asyncio.to_thread(file.write_text, sandbox.kubeconfig())
            yield sandbox, file


@asynccontextmanager
async def empty_stage() -> AsyncIterator[Stage]:
    async with sandbox_and_kubeconfig() as (sandbox, file), cluster.connect(file) as connected:
        yield Stage(connected.client, SandboxStore(sandbox), connected.archive("default"))
