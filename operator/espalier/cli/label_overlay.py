"""
Definitions as they would be if somebody had labelled them; nothing is written for that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from espalier.crd import Condition, Definition
from espalier.engine.ports.definitions import Definitions
from espalier.names import MODE

ENFORCE = "enforce"


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """
    What the definitions are treated as if they had it.
    """

    labels: Mapping[str, str]
    annotations: Mapping[str, str] = field(default_factory=dict)


class Relabelled:
    """
    Implements ``espalier.engine.ports.definitions.Definitions``.

    The label ``espalier.dev/mode`` counts all the same where it is taken off, or set to something
    else than ``enforce``, after it was first read: that is how whoever watches a cluster stops
    all writing, whoever began it. Such a definition asks for nothing any more.
    """

    def __init__(self, definitions: Definitions, marks: Marks) -> None:
        self._definitions = definitions
        self._marks = marks
        self._modes: dict[str, str | None] = {}

    async def get_definition(self, name: str) -> Definition:
        """
        Read one, and relabel it.
        """
        return self._relabelled(await self._definitions.get_definition(name))

    async def get_resource_version(self, name: str) -> str:
        """
        Read the resource version of one.
        """
        return await self._definitions.get_resource_version(name)

    async def set_stored_versions(
        self, definition: Definition, versions: Sequence[str]
    ) -> Definition:
        """
        Write the stored versions, and relabel what is there then.
        """
        return self._relabelled(await self._definitions.set_stored_versions(definition, versions))

    async def apply_conditions(
        self, definition: Definition, conditions: Sequence[Condition], *, field_manager: str
    ) -> None:
        """
        Write conditions.
        """
        await self._definitions.apply_conditions(
            definition, conditions, field_manager=field_manager
        )

    async def other_migrations(self, definition: Definition) -> tuple[str, ...]:
        """
        Name the server's own migrations.
        """
        return await self._definitions.other_migrations(definition)

    def _relabelled(self, definition: Definition) -> Definition:
        labels = {**definition.labels, **self._marks.labels}
        mode = definition.labels.get(MODE)
        if mode == ENFORCE:
            self._modes[definition.uid] = mode
        elif mode != self._modes.setdefault(definition.uid, mode):
            del labels[MODE]
        return replace(
            definition,
            labels=labels,
            annotations={**definition.annotations, **self._marks.annotations},
        )
