"""
The documents of the parts of a definition, in memory.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from espalier.crd import Definition
from espalier.paths import JSON
from tests.fakes.cluster import FakeCluster


class PartsCluster(FakeCluster):
    """
    A cluster in which parts of a definition can be worked on.

    Attributes:
        parts: What is kept of each, by the number of the part.
    """

    def __init__(self, definition: Definition) -> None:
        super().__init__(definition)
        self.parts: dict[int, dict[str, JSON]] = {}

    def part_documents(self, number: int) -> "FakePartDocuments":
        return FakePartDocuments(self, number)

    async def load_part(self, number: int) -> dict[str, JSON] | None:
        await self._enter("load_part", str(number))
        return self.parts.get(number)

    async def save_part(self, number: int, document: Mapping[str, JSON]) -> None:
        await self._enter("save_part", str(number))
        self.parts[number] = dict(document)
        await self._leave("save_part", str(number))


@dataclass(frozen=True, slots=True)
class FakePartDocuments:
    """
    Implements ``espalier.engine.ports.state.Checkpoints`` for all parts with one number.
    """

    cluster: PartsCluster
    number: int

    def home_of(self, definition: Definition) -> tuple[str, str]:
        return self.cluster.namespace, f"checkpoint-part-{self.number}-{definition.name}"

    async def load(self, definition: Definition) -> dict[str, JSON] | None:
        assert definition.name
        return await self.cluster.load_part(self.number)

    async def save(self, definition: Definition, document: Mapping[str, JSON]) -> None:
        assert definition.name
        await self.cluster.save_part(self.number, document)

    async def forget(self, definition: Definition) -> None:
        raise AssertionError(f"nothing of {definition.name} is deleted")
