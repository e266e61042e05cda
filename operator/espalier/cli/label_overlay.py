"""
Read definitions as if they had certain labels, without writing the labels.

``espalier migrate`` uses it to treat a definition as one that is labelled ``mode=enforce``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from espalier.crd import Condition, Definition
from espalier.engine.ports import Definitions
from espalier.names import MODE

ENFORCE = "enforce"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelOverlay:
    """
    The labels and annotations that are added to each definition when it is read.
    """

    labels: Mapping[str, str]
    annotations: Mapping[str, str] = field(default_factory=dict)


class OverlaidDefinitions:
    """
    Implement the port ``espalier.engine.ports.definitions.Definitions`` with added labels.

    A person can still stop a run: when the real label ``espalier.dev/mode`` is removed or changed
    to something other than ``enforce`` after it was first read, the definition is returned without
    the label, and the run stops.
    """

    def __init__(self, definitions: Definitions, overlay: LabelOverlay) -> None:
        self._definitions = definitions
        self._overlay = overlay
        self._modes: dict[str, str | None] = {}

    async def get_definition(self, name: str) -> Definition:
        """
        Read a definition, and add the labels.
        """
        return self._overlaid(await self._definitions.get_definition(name))

    async def get_resource_version(self, name: str) -> str:
        """
        Read the resource version of a definition.
        """
        return await self._definitions.get_resource_version(name)

    async def set_stored_versions(
        self, definition: Definition, versions: Sequence[str]
    ) -> Definition:
        """
        Write ``status.storedVersions``; return the definition as it is then, with the labels.
        """
        return self._overlaid(await self._definitions.set_stored_versions(definition, versions))

    async def apply_conditions(
        self, definition: Definition, conditions: Sequence[Condition], *, field_manager: str
    ) -> None:
        """
        Write conditions; no label is added for this.
        """
        await self._definitions.apply_conditions(
            definition, conditions, field_manager=field_manager
        )

    async def other_migrations(self, definition: Definition) -> tuple[str, ...]:
        """
        Return the names of the server's own StorageVersionMigrations of a definition.
        """
        return await self._definitions.other_migrations(definition)

    def _overlaid(self, definition: Definition) -> Definition:
        labels = {**definition.labels, **self._overlay.labels}
        mode = definition.labels.get(MODE)
        if mode == ENFORCE:
            self._modes[definition.uid] = mode
        elif mode != self._modes.setdefault(definition.uid, mode):
            del labels[MODE]
        return replace(
            definition,
            labels=labels,
            annotations={**definition.annotations, **self._overlay.annotations},
        )
