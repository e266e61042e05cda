"""
Runs of the engine in the process of a test, against real servers.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from espalier.cluster import Cluster
from espalier.crd import Condition, Definition
from espalier.engine import Ports, Reason
from espalier.engine.ports.objects import Objects
from espalier.engine.ports.progress import PassProgress
from tests.e2e.writes import NAMESPACE


def ports_of(cluster: Cluster, *, objects: Objects | None = None) -> Ports:
    """
    Gather what a run is given.
    """
    ports = Ports(
        objects=cluster.objects,
        definitions=cluster.definitions,
        rights=cluster.rights,
        checkpoints=cluster.checkpoints(NAMESPACE),
        archive=cluster.archive(NAMESPACE),
        leases=cluster.leases(NAMESPACE),
        clock=cluster.clock,
        namespace=NAMESPACE,
    )
    return ports if objects is None else replace(ports, objects=objects)


class Reports:
    """
    Implements ``espalier.engine.ports.reporter.Reporter``.
    """

    def __init__(self) -> None:
        self._reasons: set[str] = set()
        self._more = asyncio.Event()

    async def report(
        self,
        definition: Definition,
        conditions: Sequence[Condition],
        progress: PassProgress | None = None,
    ) -> None:
        del definition, progress
        self._reasons.add(conditions[0].reason)
        self._more.set()

    async def wait_for(self, reason: Reason) -> None:
        """
        Wait until a reason was reported.
        """
        while reason not in self._reasons:
            self._more.clear()
            await self._more.wait()
