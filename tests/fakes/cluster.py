# ruff: noqa: ARG002 - the ports name more arguments than a cluster in memory needs
"""
A cluster in memory behind the engine's ports.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace

from espalier import names
from espalier.crd import Condition, Definition
from espalier.engine import Ports
from espalier.engine.ports import Endpoint, Workers
from espalier.engine.ports.archive import ArchiveEntry, UnreadablePage
from espalier.engine.ports.progress import PassProgress
from espalier.errors import (
    ConflictError,
    NotFoundError,
)
from espalier.paths import JSON
from tests.fakes.clock import FakeClock
from tests.fakes.objects import FakeObjects
from tests.fakes.widgets import WIDGETS


class FakeCluster(FakeObjects):
    """
    All of the engine's ports, and its reporter.
    """

    def __init__(self, definition: Definition) -> None:
        super().__init__(definition)
        self.clock = FakeClock()
        self.missing: tuple[str, ...] = ()
        self.archives_in_secrets = True
        self.rights: list[str] = []
        self.migrations: tuple[str, ...] = ()
        self.documents: dict[str, dict[str, JSON]] = {}
        self.archived: list[ArchiveEntry] = []
        self.reports: list[tuple[Condition, ...]] = []
        self.progress: list[PassProgress] = []
        self.holder: str = ""
        self.duration_seconds = 15.0
        self.namespace = "espalier-system"
        self.workers: Workers | None = None

    @property
    def ports(self) -> Ports:
        return Ports(
            objects=self,
            definitions=self,
            rights=self,
            checkpoints=self,
            archive=self,
            leases=self,
            clock=self.clock,
            namespace=self.namespace,
            workers=self.workers,
        )

    @property
    def reasons(self) -> list[str]:
        """
        The reasons that were reported, each once in a row.
        """
        said: list[str] = []
        for conditions in self.reports:
            if not said or said[-1] != conditions[0].reason:
                said.append(conditions[0].reason)
        return said

    async def get_definition(self, name: str) -> Definition:
        await self._enter("get_definition", name)
        if self.definition is None:
            raise NotFoundError(
                verb="get", resource=name, status=404, reason="NotFound", is_object=True
            )
        return self.definition

    async def get_resource_version(self, name: str) -> str:
        await self._enter("get_resource_version", name)
        if self.definition is None:
            raise NotFoundError(
                verb="get", resource=name, status=404, reason="NotFound", is_object=True
            )
        return self.definition.resource_version

    async def set_stored_versions(
        self, definition: Definition, versions: Sequence[str]
    ) -> Definition:
        await self._enter("set_stored_versions", definition.name)
        assert self.definition is not None
        if definition.resource_version != self.definition.resource_version:
            raise ConflictError(verb="patch", resource=WIDGETS, status=409, reason="Conflict")
        if not self.is_dry:
            self.change(stored_versions=tuple(versions))
        await self._leave("set_stored_versions", definition.name)
        return self.definition

    async def other_migrations(self, definition: Definition) -> tuple[str, ...]:
        await self._enter("other_migrations", definition.name)
        return self.migrations

    async def apply_conditions(
        self, definition: Definition, conditions: Sequence[Condition], *, field_manager: str
    ) -> None:
        # All others are the reporter's business, not the engine's.
        assert field_manager == names.RECORD_FIELD_MANAGER
        assert self.definition is not None
        await self._enter("apply_conditions", definition.name)
        others = [one for one in self.definition.conditions if one.type != names.RECORD]
        if not self.is_dry:
            version = str(self._next_version())
            self.definition = replace(
                self.definition, conditions=(*others, *conditions), resource_version=version
            )
        await self._leave("apply_conditions", definition.name)

    async def forget(self, definition: Definition) -> None:
        await self._enter("forget", definition.name)
        if not self.is_dry:
            self.documents.pop(definition.uid, None)

    def home_of(self, definition: Definition) -> tuple[str, str]:
        return self.namespace, f"checkpoint-{definition.name}"

    async def missing_verbs(
        self, resource: Endpoint, verbs: Sequence[str], *, namespace: str = "", name: str = ""
    ) -> tuple[str, ...]:
        await self._enter("missing_verbs", resource.plural)
        assert not name or (self.definition is not None and name == self.definition.name)
        where = f" in {namespace}" if namespace else ""
        self.rights += [f"{verb} {resource.plural}{where}" for verb in verbs]
        return tuple(verb for verb in verbs if f"{verb} {resource.plural}{where}" in self.missing)

    async def load(self, definition: Definition) -> dict[str, JSON] | None:
        await self._enter("load", definition.name)
        return self.documents.get(definition.uid)

    async def save(self, definition: Definition, document: Mapping[str, JSON]) -> None:
        await self._enter("save", definition.name)
        if not self.is_dry:
            self.documents[definition.uid] = dict(document)
        await self._leave("save", definition.name)

    async def store(self, definition: Definition, entries: Sequence[ArchiveEntry]) -> str:
        await self._enter("archive", "+".join(entry.key.name for entry in entries))
        assert not self.is_dry
        newest = {entry.uid: entry.patch for entry in self.archived}
        self.archived += [entry for entry in entries if newest.get(entry.uid) != entry.patch]
        await self._leave("archive", "")
        return f"archive-{len(self.archived)}"

    @property
    def secret_verbs(self) -> tuple[str, ...]:
        return ("get", "list", "create") if self.archives_in_secrets else ()

    def begin(self, definition: Definition) -> None:
        self.calls.append(("begin", definition.name))

    async def entries(
        self,
        definition: Definition,
        *,
        pass_over: Callable[[UnreadablePage], None] | None = None,
    ) -> AsyncIterator[ArchiveEntry]:
        for entry in reversed(self.archived):
            yield entry

    async def acquire(self, definition: Definition) -> None:
        await self._enter("acquire", definition.name)
        if not self.is_dry:
            self.holder = "us"

    async def release(self, definition: Definition) -> None:
        await self._enter("release", definition.name)
        self.holder = ""

    async def report(
        self,
        definition: Definition,
        conditions: Sequence[Condition],
        progress: PassProgress | None = None,
    ) -> None:
        self.reports.append(tuple(conditions))
        if progress is not None:
            self.progress.append(progress)
