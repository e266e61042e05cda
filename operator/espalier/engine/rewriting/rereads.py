"""
Reads some objects anew, by name.
"""

from collections.abc import Iterable

from espalier.engine.coordination.run_context import RunContext
from espalier.engine.flowcontrol.pacer import Pacer, work_through
from espalier.engine.policy.plan import Plan
from espalier.engine.ports import ObjectKey
from espalier.engine.rewriting.outages import count
from espalier.engine.rewriting.retries import Unchanged, WriteResult, retry_until_decided
from espalier.engine.status.tally import Tally
from espalier.errors import ClusterError, ConversionError
from espalier.paths import JSON


async def read_again(
    keys: Iterable[ObjectKey], context: RunContext[Plan], pacer: Pacer, tally: Tally
) -> list[dict[str, JSON]]:
    """
    Read objects; those that are gone or cannot be read are counted, and the others are returned.

    Raises:
        ConversionError: The conversion webhook does not answer as it must.
    """
    reads = [_Read(context, key) for key in keys]

    async def read(one: _Read) -> None:
        fate = await retry_until_decided(one, context.ports.clock, pacer)
        if one.obj is None:
            count(tally, one.key, fate)

    await work_through(reads, read, workers=pacer.max_in_flight)
    return [one.obj for one in reads if one.obj is not None]


class _Read:
    def __init__(self, context: RunContext[Plan], key: ObjectKey) -> None:
        self.key = key
        self.obj: dict[str, JSON] | None = None
        self._objects = context.ports.objects
        self._resource = context.planned.resource
        self._probe = context.probe

    async def attempt(self) -> WriteResult:
        """
        Read once.
        """
        try:
            self.obj = await self._objects.get_object(self._resource, self.key)
        except ConversionError as error:
            raise await self._probe.check_alone(error, self.key) from error
        return Unchanged()

    def note(self, error: ClusterError, *, reads_again: bool) -> None:
        """
        Remember nothing.
        """
