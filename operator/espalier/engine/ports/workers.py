"""
The port to worker processes: what takes long on one object is computed outside of the event loop.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

from espalier.paths import JSON

ResultT = TypeVar("ResultT")
ResultT_co = TypeVar("ResultT_co", covariant=True)


class Computation(Protocol[ResultT_co]):
    """
    What is computed of each item; pickled once for each worker that needs it.
    """

    @property
    def digest(self) -> str:
        """
        Identify what it is made of; equal ones compute the same.
        """

    def prepare(self) -> Callable[[Any], ResultT_co]:
        """
        Compile it in a worker; the result takes the decoded JSON of one item.
        """


class WorkItem(NamedTuple):
    """
    What one result is computed of.

    Attributes:
        identity: Names the item, and the state of it that matters.
        data: Its JSON, as ``Workers.pack`` encodes it.
    """

    identity: str
    data: bytes


@dataclass(frozen=True, slots=True)
class NotComputed:
    """
    There is no result for an item.

    Attributes:
        reason: Why, for people: "it takes longer than 5 s".
    """

    reason: str


class Workers(Protocol):
    """
    Worker processes with a deadline for each item.

    An item without a result is not tried again with an equal computation.
    """

    def pack(self, value: Mapping[str, JSON] | Sequence[JSON]) -> bytes:
        """
        Encode an object or a list of any depth as JSON.
        """

    async def compute(
        self, computation: Computation[ResultT], items: Sequence[WorkItem]
    ) -> list[ResultT | NotComputed]:
        """
        Compute a result for each item, in the order of the items.
        """
