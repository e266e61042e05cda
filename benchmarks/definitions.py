"""
Measure the operator in a cluster with many definitions: ``make bench-definitions``.

The cluster is a sandbox. Each hundredth definition is not structural, and the operator alone writes
its condition, so that its first look at all definitions has an end that can be seen. The last line
is one JSON object.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

import orjson
from tests.cli.stages import SandboxStore

from benchmarks.migrate_idle import definition
from benchmarks.migrate_memory import cpu_seconds, peak_mib, resident_mib
from espalier import cluster
from espalier.cli.demo.stage import CRDS, Stage
from espalier.sandbox import Sandbox

STORED = "/registry/apiextensions.k8s.io/customresourcedefinitions/"
NON_STRUCTURAL_ONE_OF = 100
LONGEST_SECONDS = 900.0
SETTLE_SECONDS = 15.0
IDLE_SECONDS = 60.0


def main() -> None:
    """
    Measure; print a line for people and the figures as JSON.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.definitions")
    parser.add_argument("--definitions", type=int, default=10_000)
    given = parser.parse_args()
    figures = asyncio.run(_measure(given.definitions))
    print(
        f"{given.definitions:,} definitions: all seen after {figures['seconds']:.1f} s and"
        f" {figures['cpu_seconds']:.1f} s of CPU time; idle with {figures['rss_mib']:.0f} MiB"
        f" ({figures['peak_rss_mib']:.0f} at its peak)"
        f" and {figures['idle_cpu_percent']:.2f} % of a core"
    )
    print(orjson.dumps({name: round(figure, 3) for name, figure in figures.items()}).decode())


async def _measure(number: int) -> dict[str, float]:
    namespaces = ("default", "espalier-system")
    async with Sandbox(structural_delay_seconds=None, namespaces=namespaces) as sandbox:
        with tempfile.TemporaryDirectory() as folder:
            kubeconfig = Path(folder, "kubeconfig")
            await asyncio.to_thread(kubeconfig.write_text, sandbox.kubeconfig())
            broken = await _fill(sandbox, kubeconfig, number)
            environment = {
                key: value for key, value in os.environ.items() if not key.startswith("ESPALIER_")
            } | {"KUBECONFIG": str(kubeconfig)}
            operator = subprocess.Popen(  # noqa: ASYNC220 - it returns at once
                [sys.executable, "-m", "espalier", "operator"], env=environment
            )
            try:
                return await _watch(sandbox, operator.pid, broken)
            finally:
                operator.terminate()
                await asyncio.to_thread(operator.wait)


async def _fill(sandbox: Sandbox, kubeconfig: Path, number: int) -> list[str]:
    """
    Store the definitions, and return the keys of those that are not structural.

    One is created through the API; the others are its bytes with a name and uid of their own.
    """
    async with cluster.connect(kubeconfig) as connected:
        stage = Stage(connected.client, SandboxStore(sandbox), connected.archive("default"))
        first = definition(0)
        await stage.create(CRDS, first)
    name, plural = first["metadata"]["name"], first["spec"]["names"]["plural"]
    structural = sandbox.raw_get(STORED + name) or b""
    # No API server accepts it as v1; it is from the time of v1beta1.
    body = orjson.loads(structural)
    uid = body["metadata"]["uid"].encode()
    del body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["type"]
    not_structural = orjson.dumps(body)
    broken = []
    for index in range(1, number):
        is_broken = index % NON_STRUCTURAL_ONE_OF == 0
        new = f"idlers{index:06}"
        template = not_structural if is_broken else structural
        template = template.replace(uid, str(uuid.uuid4()).encode())
        template = template.replace(plural.encode(), new.encode())
        key = STORED + name.replace(plural, new)
        sandbox.raw_put(key, template.replace(plural.title().encode(), new.title().encode()))
        if is_broken:
            broken.append(key)
    return broken


async def _watch(sandbox: Sandbox, pid: int, broken: list[str]) -> dict[str, float]:
    begun = time.monotonic()
    waiting = list(broken)
    while waiting := [key for key in waiting if not _has_condition(sandbox, key)]:
        if time.monotonic() - begun > LONGEST_SECONDS:
            raise SystemExit(f"{len(waiting)} definitions have no condition")
        await asyncio.sleep(0.2)
    seconds, spent = time.monotonic() - begun, cpu_seconds(pid)
    await asyncio.sleep(SETTLE_SECONDS)
    before = cpu_seconds(pid)
    await asyncio.sleep(IDLE_SECONDS)
    return {
        "seconds": seconds,
        "cpu_seconds": spent,
        "rss_mib": resident_mib(pid),
        "peak_rss_mib": peak_mib(pid),
        "idle_cpu_percent": (cpu_seconds(pid) - before) / IDLE_SECONDS * 100,
    }


def _has_condition(sandbox: Sandbox, key: str) -> bool:
    return b'"NonStructuralSchema"' in (sandbox.raw_get(key) or b"")


if __name__ == "__main__":
    main()
