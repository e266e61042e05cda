"""
The world as a rehearsal sees it: the server tries each write, and keeps none.

A rehearsal is the run itself, so that it can promise nothing that the run breaks. The ports that it
is given send each write as a dry run: the server checks rights, namespaces, admission, conversion
and validation. Here is added what a run reads back of what it wrote, which no server has kept.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from espalier.crd import Condition, Definition
from espalier.engine.ports.archive import Archive, ArchiveEntry, UnreadablePage
from espalier.engine.ports.definitions import Definitions
from espalier.engine.ports.state import Checkpoints, Leases
from espalier.engine.settings import Ports
from espalier.paths import JSON


def rehearsed(ports: Ports) -> Ports:
    """
    Return the ports of a rehearsal.

    Args:
        ports: Their writes are dry runs.
    """
    return replace(
        ports,
        definitions=RehearsedDefinitions(ports.definitions),
        checkpoints=RehearsedCheckpoints(ports.checkpoints),
        leases=RehearsedLeases(ports.leases),
        archive=RehearsedArchive(ports.archive),
    )


@dataclass(slots=True)
class RehearsedDefinitions:
    """
    Implements ``Definitions``: stored versions and conditions are remembered.
    """

    inner: Definitions
    _stored: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _conditions: dict[str, dict[str, Condition]] = field(default_factory=dict)

    async def get_definition(self, name: str) -> Definition:
        """
        Read one, and add what was written of it.
        """
        found = await self.inner.get_definition(name)
        written = self._conditions.get(name, {})
        kept = [one for one in found.conditions if one.type not in written]
        return replace(
            found,
            stored_versions=self._stored.get(name, found.stored_versions),
            conditions=(*kept, *written.values()),
            record_written_at="" if written else found.record_written_at,
        )

    async def get_resource_version(self, name: str) -> str:
        """
        Read the resource version of one.
        """
        return await self.inner.get_resource_version(name)

    async def set_stored_versions(
        self, definition: Definition, versions: Sequence[str]
    ) -> Definition:
        """
        Try to replace ``status.storedVersions``, and remember it.
        """
        await self.inner.set_stored_versions(definition, versions)
        self._stored[definition.name] = tuple(versions)
        return replace(definition, stored_versions=tuple(versions))

    async def apply_conditions(
        self, definition: Definition, conditions: Sequence[Condition], *, field_manager: str
    ) -> None:
        """
        Try to apply conditions, and remember them.
        """
        await self.inner.apply_conditions(definition, conditions, field_manager=field_manager)
        known = self._conditions.setdefault(definition.name, {})
        known |= {one.type: one for one in conditions}

    async def other_migrations(self, definition: Definition) -> tuple[str, ...]:
        """
        Name the server's own migrations.
        """
        return await self.inner.other_migrations(definition)


@dataclass(slots=True)
class RehearsedCheckpoints:
    """
    Implements ``Checkpoints``: the first document is tried, and all are remembered.
    """

    inner: Checkpoints
    _documents: dict[str, dict[str, JSON] | None] = field(default_factory=dict)

    def home_of(self, definition: Definition) -> tuple[str, str]:
        """
        Name the namespace and the ConfigMap of the document.
        """
        return self.inner.home_of(definition)

    async def load(self, definition: Definition) -> dict[str, JSON] | None:
        """
        Return the document that was saved last.
        """
        if definition.uid in self._documents:
            return self._documents[definition.uid]
        return await self.inner.load(definition)

    async def forget(self, definition: Definition) -> None:
        """
        Forget the document.
        """
        self._documents[definition.uid] = None

    async def save(self, definition: Definition, document: Mapping[str, JSON]) -> None:
        """
        Try to store a document, unless one was tried before: another write meets no other answer.
        """
        if definition.uid not in self._documents:
            await self.inner.save(definition, document)
        self._documents[definition.uid] = dict(document)


@dataclass(slots=True)
class RehearsedLeases:
    """
    Implements ``Leases``: a lease is tried once; it keeps nobody away.
    """

    inner: Leases
    _tried: set[str] = field(default_factory=set)

    async def acquire(self, definition: Definition) -> None:
        """
        Try to take the lease.
        """
        if definition.uid not in self._tried:
            await self.inner.acquire(definition)
            self._tried.add(definition.uid)

    async def release(self, definition: Definition) -> None:
        """
        Forget the lease.
        """
        self._tried.discard(definition.uid)

    @property
    def duration_seconds(self) -> float:
        """
        How long a lease lasts without renewal.
        """
        return self.inner.duration_seconds


@dataclass(slots=True)
class RehearsedArchive:
    """
    Implements ``Archive``: nothing is kept, and whether there is room is not tried.
    """

    inner: Archive

    @property
    def secret_verbs(self) -> tuple[str, ...]:
        """
        The RBAC verbs on Secrets that storing needs.
        """
        return self.inner.secret_verbs

    def begin(self, definition: Definition) -> None:
        """
        Begin a run.
        """
        self.inner.begin(definition)

    async def store(self, definition: Definition, entries: Sequence[ArchiveEntry]) -> str:
        """
        Keep nothing.
        """
        del definition, entries
        return "rehearsal"

    def entries(
        self,
        definition: Definition,
        *,
        pass_over: Callable[[UnreadablePage], None] | None = None,
    ) -> AsyncIterator[ArchiveEntry]:
        """
        Read the entries that were kept before.
        """
        return self.inner.entries(definition, pass_over=pass_over)
