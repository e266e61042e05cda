"""
Ports through which a process writes only for definitions that it is responsible for.

Objects have a gate of their own, ``write_gate``, which asks the same fence.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from espalier.crd import Condition, Definition
from espalier.engine.ports.definitions import Definitions
from espalier.engine.ports.state import Checkpoints, WriteFence
from espalier.paths import JSON


@dataclass(frozen=True, slots=True)
class FencedDefinitions:
    """
    Implements ``Definitions``: whatever is written raises a LeaseLostError without responsibility.
    """

    inner: Definitions
    fence: WriteFence

    async def get_definition(self, name: str) -> Definition:
        """
        Read one from etcd.
        """
        return await self.inner.get_definition(name)

    async def get_resource_version(self, name: str) -> str:
        """
        Read the resource version of one.
        """
        return await self.inner.get_resource_version(name)

    async def set_stored_versions(
        self, definition: Definition, versions: Sequence[str]
    ) -> Definition:
        """
        Replace ``status.storedVersions``.
        """
        await self.fence.confirm(definition.name)
        return await self.inner.set_stored_versions(definition, versions)

    async def apply_conditions(
        self, definition: Definition, conditions: Sequence[Condition], *, field_manager: str
    ) -> None:
        """
        Apply conditions.
        """
        await self.fence.confirm(definition.name)
        await self.inner.apply_conditions(definition, conditions, field_manager=field_manager)

    async def other_migrations(self, definition: Definition) -> tuple[str, ...]:
        """
        Name the server's own migrations that go on.
        """
        return await self.inner.other_migrations(definition)


@dataclass(frozen=True, slots=True)
class FencedCheckpoints:
    """
    Implements ``Checkpoints``, likewise.
    """

    inner: Checkpoints
    fence: WriteFence

    def home_of(self, definition: Definition) -> tuple[str, str]:
        """
        Name where the document of this CRD is kept.
        """
        return self.inner.home_of(definition)

    async def load(self, definition: Definition) -> dict[str, JSON] | None:
        """
        Read the document of this CRD.
        """
        return await self.inner.load(definition)

    async def forget(self, definition: Definition) -> None:
        """
        Delete the document of this CRD.
        """
        await self.fence.confirm(definition.name)
        await self.inner.forget(definition)

    async def save(self, definition: Definition, document: Mapping[str, JSON]) -> None:
        """
        Store the document.
        """
        await self.fence.confirm(definition.name)
        await self.inner.save(definition, document)
