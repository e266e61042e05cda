"""
Reads some objects anew, by name.
"""

from collections.abc import Iterable

from espalier.engine.flowcontrol.pacer import Pacer, work_through
from espalier.engine.ports import Endpoint, ObjectKey
from espalier.engine.ports.objects import Objects
from espalier.engine.rewriting.outages import count
from espalier.engine.rewriting.retries import Unchanged, WriteResult, retry_until_decided
from espalier.engine.settings import Ports
from espalier.engine.status.tally import Tally
from espalier.errors import ClusterError
from espalier.paths import JSON


async def read_again(
    keys: Iterable[ObjectKey], resource: Endpoint, ports: Ports, pacer: Pacer, tally: Tally
) -> list[dict[str, JSON]]:
    """
    Read objects; those that are gone or cannot be read are counted, and the others are returned.

    Raises:
        ConversionError: The conversion webhook does not answer as it must.
    """
    reads = [_Read(ports.objects, resource, key) for key in keys]

    async def read(one: _Read) -> None:
        fate = await retry_until_decided(one, ports.clock, pacer)
        if one.obj is None:
            count(tally, one.key, fate)

    await work_through(reads, read, workers=pacer.max_in_flight)
    return [one.obj for one in reads if one.obj is not None]


class _Read:
    def __init__(self, objects: Objects, resource: Endpoint, key: ObjectKey) -> None:
        self.key = key
        self.obj: dict[str, JSON] | None = None
        self._objects = objects
        self._resource = resource

    async def attempt(self) -> WriteResult:
        """
        Read once.
        """
        self.obj = await self._objects.get_object(self._resource, self.key)
        return Unchanged()

    def note(self, error: ClusterError, *, reads_again: bool) -> None:
        """
        Remember nothing.
        """
