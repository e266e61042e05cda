"""
What is stored, and what would become of it? Read only, with one object in memory at a time.

A survey reports what normalising would change, what a conversion loses, what violates the schema,
and which fields the objects' managedFields name though no schema specifies them. It reports counts,
paths and names.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from espalier.crd import Definition
from espalier.engine.conversion.versions import VersionsReader
from espalier.engine.listing.pages import pages
from espalier.engine.listing.undecodable import UndecodableSkipper
from espalier.engine.policy.evidence import UNCOMPARED
from espalier.engine.ports import StoredMetadata, key_of
from espalier.engine.ports.clock import Clock
from espalier.engine.ports.objects import Objects
from espalier.engine.ports.records import metadata_of
from espalier.engine.ports.workers import Workers
from espalier.engine.status.path_counts import Counter
from espalier.engine.surveys.page_examiner import PageExaminer
from espalier.engine.surveys.report import Survey
from espalier.errors import ConflictError, NotFoundError, RejectedError, UndecodableError
from espalier.paths import JSON

DEFAULT_PAGE_SIZE = 500

WouldLose = Callable[[StoredMetadata], Awaitable[frozenset[str]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """
    What a survey looks at, and by which rules.

    Attributes:
        candidate: What the definition may become: objects are held to this one's schema.
        would_lose: Names what the rewrite of an object would lose, as ``WriteGate.items`` does;
            None where that is not asked.
        spent: How many consents to a loss were spent before.
        namespaces: Restricts the survey; all if empty.
        page_size: The most objects in a page.
        workers: Examine what takes long; None to do all in the event loop.
    """

    candidate: Definition | None = None
    would_lose: WouldLose | None = None
    spent: int = 0
    namespaces: Sequence[str] = ()
    page_size: int = DEFAULT_PAGE_SIZE
    workers: Workers | None = None


async def _items(would_lose: WouldLose, obj: dict[str, JSON]) -> frozenset[str]:
    try:
        return await would_lose(metadata_of(obj))
    except (ConflictError, NotFoundError):
        # Written or deleted meanwhile.
        return frozenset()
    except (UndecodableError, RejectedError):
        return frozenset({UNCOMPARED})


EVERYTHING = Scope()


class Onlooker(Protocol):
    """
    Follows how far a survey came.
    """

    async def surveyed(self, objects: int, *, remaining: int | None) -> None:
        """
        Record that a page was surveyed.

        Args:
            objects: How many were looked at so far.
            remaining: How many follow, if the server reported it.

        Raises:
            EspalierError: The survey must end.
        """


async def survey(
    definition: Definition,
    objects: Objects,
    clock: Clock,
    scope: Scope = EVERYTHING,
    *,
    onlooker: Onlooker | None = None,
) -> Survey:
    """
    Read all stored objects of a definition, and write nothing.

    Args:
        definition: As it is in the cluster.

    Raises:
        NoStorageVersionError: Not exactly one version is marked.
        NothingServedError: No version is served, so nothing can be read.
        SchemaParseError: A schema cannot be read.
        ClusterError: The objects could not be listed.
    """
    reader = VersionsReader(definition, objects, scope.page_size, workers=scope.workers)
    examiner = PageExaminer(
        definition, candidate=scope.candidate, clock=clock, workers=scope.workers
    )
    losses = Counter() if scope.would_lose is not None else None
    skipper = UndecodableSkipper(objects, definition)
    for namespace in dict.fromkeys(scope.namespaces) or ("",):
        listing = reader.listing(namespace)
        async for page, _ in pages(listing, clock, skipper=skipper):
            async for obj, _ in examiner.looks(page.first.objects):
                if scope.would_lose is not None and losses is not None:
                    losses.add(key_of(obj), await _items(scope.would_lose, obj))
            await reader.compare(page)
            if onlooker is not None:
                await onlooker.surveyed(examiner.objects, remaining=page.first.remaining)
    return replace(
        examiner.survey(),
        would_lose=None if losses is None else losses.counts(),
        spent=scope.spent,
        version=reader.resource.version,
        conversions=tuple(comparison.loss() for comparison in reader.comparisons),
        unread_versions=reader.unread_versions,
        undecodable=skipper.names,
    )
