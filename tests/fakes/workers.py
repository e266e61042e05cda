"""
Workers in memory: a deadline is reached by those items that a test chooses.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from espalier.engine.ports import Computation, NotComputed, WorkItem
from espalier.engine.ports.workers import ResultT
from espalier.paths import JSON

OVERDUE = NotComputed("it takes longer than 5 s")


class FakeWorkers:
    """
    Compute each item at once, or not at all.

    Attributes:
        is_overdue: Chooses the items that take too long.
        batches: The identities that were asked for, a call at a time.
        sizes: The bytes of each call.
    """

    def __init__(self, is_overdue: Callable[[WorkItem], bool] = lambda _: False) -> None:
        self.is_overdue = is_overdue
        self.batches: list[list[str]] = []
        self.sizes: list[int] = []

    def pack(self, value: Mapping[str, JSON] | Sequence[JSON]) -> bytes:
        return msgspec.json.encode(value)

    async def compute(
        self, computation: Computation[ResultT], items: Sequence[WorkItem]
    ) -> list[ResultT | NotComputed]:
        self.batches.append([item.identity for item in items])
        self.sizes.append(sum(len(item.data) for item in items))
        compute = computation.prepare()
        return [
            OVERDUE if self.is_overdue(item) else compute(msgspec.json.decode(item.data))
            for item in items
        ]
