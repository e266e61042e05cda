"""
The ports to the archive of removed data, and the records that cross them.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from espalier.crd import Definition
from espalier.engine.ports.records import ObjectKey
from espalier.errors import NotFoundError, RejectedError, SourceError
from espalier.paths import JSON

ROOM = (
    "Save old pages (espalier archive export) and remove them (espalier archive expire), or give"
    " the archive more room (--archive-max-bytes)"
)
"""What a person may do about a full archive; the sentence may go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveEntry:
    """
    What is to be removed from one object.

    Attributes:
        patch: An inverse JSON Patch: a ``test`` of every array ancestor, then ``add``s.
    """

    api_version: str
    kind: str
    key: ObjectKey
    uid: str
    resource_version: str
    patch: tuple[dict[str, JSON], ...] = field(hash=False)


@dataclass(frozen=True, slots=True)
class UnreadablePage:
    """
    A page of an archive that is damaged, incomplete, or was taken away meanwhile.

    Attributes:
        name: Under which a person finds it.
    """

    name: str
    reason: str


class Archive(Protocol):
    """
    Keeps removed data, a page of objects at a time.
    """

    @property
    def secret_verbs(self) -> tuple[str, ...]:
        """
        The RBAC verbs on Secrets that storing needs; empty where the archive is not in Secrets.
        """

    def begin(self, definition: Definition) -> None:
        """
        Begin a run: other processes may have stored pages of this CRD since the last one.
        """

    async def store(self, definition: Definition, entries: Sequence[ArchiveEntry]) -> str:
        """
        Keep the entries; they are durable on return.

        Where the newest entry of an object has the same patch already, nothing is added.

        Returns:
            The name under which a person finds them.

        Raises:
            ArchiveFullError: They cannot be kept; do not remove. Where it names objects that are
                left, the entries of all others are durable.
        """

    def entries(
        self,
        definition: Definition,
        *,
        pass_over: "Callable[[UnreadablePage], None] | None" = None,
    ) -> AsyncIterator[ArchiveEntry]:
        """
        Read all entries of this CRD, newest first.

        Args:
            pass_over: Takes the pages that cannot be read; without it a damaged one is an error.
        """


DAMAGES = (RejectedError, NotFoundError, SourceError)
"""Raised for a page that is damaged or incomplete, or was deleted meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivePage:
    """
    One page of an archive, as a list shows it.

    Attributes:
        name: Under which a person finds it.
        crd: The definition whose objects it is about; empty where that is not known any more.
        sequence: Pages of one definition in the order in which they were kept.
        objects: How many objects it is about.
        size_bytes: As stored.
        created: RFC 3339; empty if that is not known.
        is_whole: Whether all of it is there; one that is not cannot be restored from.
        places: The names of what it is stored in, in order.
        uids: Of these, where they have some: names may be given anew.
    """

    name: str
    crd: str
    sequence: int
    objects: int
    size_bytes: int
    created: str
    is_whole: bool = True
    places: tuple[str, ...] = ()
    uids: tuple[str, ...] = ()


class ArchivePages(Protocol):
    """
    An archive as those see it who look after it: pages of any definition, also of deleted ones.

    Raises:
        ClusterError: It cannot be read or written.
        SourceError: A file of it cannot.
    """

    async def pages(self, crd: str | None = None) -> Sequence[ArchivePage]:
        """
        List the pages of one definition, or all, oldest first.
        """

    async def read_page(self, page: ArchivePage) -> Sequence[ArchiveEntry]:
        """
        Read the entries of a page, in the order in which they were kept.
        """

    async def remove_page(self, page: ArchivePage) -> None:
        """
        Delete a page; one that is gone already is no error.
        """


class ArchiveCopies(Protocol):
    """
    Where pages are copied to.
    """

    async def keep_copy(self, page: ArchivePage, entries: Sequence[ArchiveEntry]) -> str:
        """
        Keep a page that was kept elsewhere; one that is there already is not kept twice.

        Returns:
            The name under which a person finds it.

        Raises:
            ArchiveFullError: It cannot be kept.
        """
