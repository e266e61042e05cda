"""
Definitions and Events in memory, for the handlers.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from espalier.crd import Condition, Definition, Version
from espalier.errors import ClusterError, NotFoundError


def definition_of(name: str = "widgets.example.com", **changes: object) -> Definition:
    """
    Make a definition with one served storage version.
    """
    plural, _, group = name.partition(".")
    version = Version(name="v1", served=True, storage=True, schema={"type": "object"})
    made = Definition(
        name=name,
        uid="uid-1",
        resource_version="1",
        generation=1,
        group=group,
        kind="Widget",
        plural=plural,
        namespaced=True,
        versions=(version,),
        stored_versions=("v1",),
        preserve_unknown_fields=False,
        conversion="None",
        established=True,
        deleting=False,
    )
    return replace(made, **changes)  # type: ignore[arg-type]  # a test knows the fields


@dataclass
class FakeDefinitions:
    """
    The definitions of a cluster, and a log of what was applied to their status.

    Attributes:
        failures: Raised by the next applies, one each.
        unlisted: Raised by the next listings, one each.
        gate: While it is not set, an apply hangs before it is carried out.
    """

    found: dict[str, Definition] = field(default_factory=dict)
    applied: list[tuple[str, tuple[Condition, ...]]] = field(default_factory=list)
    failures: list[ClusterError] = field(default_factory=list)
    unlisted: list[ClusterError] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.gate.set()

    async def get_definition(self, name: str) -> Definition:
        if name not in self.found:
            raise NotFoundError(verb="get", resource=name, status=404, is_object=True)
        return self.found[name]

    async def get_resource_version(self, name: str) -> str:
        return (await self.get_definition(name)).resource_version

    async def definition_names(self) -> Sequence[str]:
        if self.unlisted:
            raise self.unlisted.pop(0)
        return tuple(self.found)

    async def set_stored_versions(
        self, definition: Definition, versions: Sequence[str]
    ) -> Definition:
        return replace(definition, stored_versions=tuple(versions))

    async def other_migrations(self, definition: Definition) -> tuple[str, ...]:
        del definition
        return ()

    async def apply_conditions(
        self, definition: Definition, conditions: Sequence[Condition], *, field_manager: str
    ) -> None:
        del definition
        await self.gate.wait()
        if self.failures:
            raise self.failures.pop(0)
        self.applied.append((field_manager, tuple(conditions)))


@dataclass
class FakeEvents:
    """
    The Events that were posted.
    """

    posted: list[tuple[str, str, str]] = field(default_factory=list)

    async def post_event(
        self, definition: Definition, *, type_: str, reason: str, message: str
    ) -> None:
        del definition
        self.posted.append((type_, reason, message))
