"""
Reads a fleet of clusters at once, and checks what comes of it: ``python -m tests.fleet``.

Twenty sandboxes, a real API server, and three that cannot be read: one is down, one never answers,
and one is the real server for an account without rights.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from espalier.cli.output.exit_codes import Exit
from tests.cli.fleets import NOWHERE, FleetOfSandboxes, fleet_of, never_answering
from tests.cli.manifests import WIDGETS
from tests.e2e.controlplane.assets import find_assets
from tests.e2e.controlplane.running import ControlPlane

SANDBOXES = tuple(f"sandbox-{number:02}" for number in range(1, 21))
UNREAD = ("down", "locked", "slow")
TIMEOUT_SECONDS = 20.0
"""What the slowest cluster takes."""

MAX_MEBIBYTES = 250
COMMANDS = (("status",), ("survey",), ("report",))


@dataclass(frozen=True)
class Measured:
    """
    One run of a command.
    """

    code: int
    document: dict[str, Any]
    seconds: float
    mebibytes: float


async def run(fleet: FleetOfSandboxes, *arguments: str) -> Measured:
    """
    Run a command as a process of its own.
    """
    command = [sys.executable, "-m", "espalier", *arguments, "--kubeconfig", str(fleet.file)]
    return await asyncio.to_thread(_run, command)


def _run(command: Sequence[str]) -> Measured:
    begun = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL)  # noqa: S603
        # Unlike Popen.wait, this returns how much memory it took.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - begun
        output.seek(0)
        # If no cluster answers, a report has no document.
        document = json.loads(output.read() or "{}")
    return Measured(process.returncode, document, seconds, usage.ru_maxrss / 1024)


@asynccontextmanager
async def fleet_with_a_real_server() -> AsyncIterator[FleetOfSandboxes]:
    """
    Start all clusters.
    """
    plane = ControlPlane(await asyncio.to_thread(find_assets))
    try:
        await asyncio.to_thread(plane.start)
        await asyncio.to_thread(plane.kubectl, "create", "serviceaccount", "nothing")
        await asyncio.to_thread(plane.kubectl, "create", "-f", "-", stdin=WIDGETS)
        locked = await asyncio.to_thread(plane.service_account_kubeconfig, "default", "nothing")
        async with fleet_of(*SANDBOXES) as fleet, never_answering() as slow:
            for name, file in (("real", plane.kubeconfig), ("locked", locked)):
                content = json.loads(await asyncio.to_thread(Path(file).read_text))
                fleet.add(name, content["clusters"][0]["cluster"], content["users"][0]["user"])
            fleet.add("down", {"server": NOWHERE})
            fleet.add("slow", {"server": slow})
            yield fleet
    finally:
        await asyncio.to_thread(plane.stop)


def check(found: Measured, slowest: Measured, *, names: Sequence[str]) -> None:
    """
    Check that everything that could be read is there, and the rest is named.
    """
    if "items" in found.document:
        shown = {item["cluster"] for item in found.document["items"]}
        missed = {one["cluster"]: one["message"] for one in found.document["problems"]}
    else:
        clusters = found.document["clusters"]
        shown = {one["cluster"] for one in found.document["definitions"]}
        missed = {one["cluster"]: one["error"] for one in clusters if "error" in one}
    assert found.code == Exit.INCOMPLETE, found.code
    assert shown == set(names), shown
    assert tuple(sorted(missed)) == UNREAD, missed
    assert "within" in missed["slow"], missed
    assert "orbidden" in missed["locked"], missed
    assert found.seconds < 2 * slowest.seconds, (found.seconds, slowest.seconds)
    assert found.mebibytes < MAX_MEBIBYTES, found.mebibytes


async def main() -> None:
    """
    Run all commands, and print a row for each.
    """
    options = ("-o", "json", "--cluster-timeout", f"{TIMEOUT_SECONDS:.0f}s")
    async with fleet_with_a_real_server() as fleet:
        sys.stdout.write(f"{len(fleet.servers)} clusters, {TIMEOUT_SECONDS:.0f} s for each\n")
        for command in COMMANDS:
            slowest = await run(fleet, *command, *options, "--contexts", "slow")
            found = await run(fleet, *command, *options, "--all-contexts")
            check(found, slowest, names=("real", *SANDBOXES))
            sys.stdout.write(
                f"{' '.join(command):8} exit {found.code}, {found.seconds:.1f} s,"
                f" {found.mebibytes:.0f} MiB (the slowest alone: {slowest.seconds:.1f} s,"
                f" {slowest.mebibytes:.0f} MiB)\n"
            )


if __name__ == "__main__":
    asyncio.run(main())
