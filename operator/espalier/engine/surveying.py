"""
What is stored, and what would become of it? Read only, with one object in memory at a time.

A survey tells what normalising would change, what a conversion loses, what violates the schema and
what the history of the objects names that no schema specifies, by counts, paths and names.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from espalier import crd, schema
from espalier.crd import Definition
from espalier.engine.comparing import ConversionLoss
from espalier.engine.counting import Counter, Counts, general
from espalier.engine.judging import Judge, without_values
from espalier.engine.losing import Historian, Loss, Record, judge
from espalier.engine.narrowing import Skipper
from espalier.engine.paging import pages
from espalier.engine.ports import Clock, ObjectKey, Objects, key_of
from espalier.engine.pruning import Pruner
from espalier.engine.reading import VersionsReader
from espalier.engine.stored import metadata_of
from espalier.errors import MalformedValueError
from espalier.findings import FieldError
from espalier.paths import JSON
from espalier.schema import Profile
from espalier.schema.cel.judging import CelJudge

DEFAULT_PAGE_SIZE = 500

RULES_SECONDS = 2.0
"""How long the rules of one object may take; nothing else is done meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Normalising:
    """
    What bringing objects into their normal form would change.

    Attributes:
        removed: Fields that the API server's pruning would remove. For a definition that it
            prunes and without a candidate there are none: it shows nobody what it prunes.
        dropped: Nulls that would be dropped.
        filled: Defaults that would be filled in.
        pruned: What Espalier's own careful pruning would remove; of legacy definitions only.
        mistyped: Values of the wrong type, which own pruning leaves alone; likewise.
        emptied: Objects whose ``spec`` or ``status`` own pruning would empty; likewise.
        malformed: Objects that the API server could not decode if they were sent to it.
    """

    removed: Counts
    dropped: Counts
    filled: Counts
    pruned: Counts
    mistyped: Counts
    emptied: Counts
    malformed: Counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """
    What a survey has found.

    Attributes:
        crd: The definition's name.
        generation: Of the definition that was surveyed.
        version: At which the objects were read: the storage version, or, where that is not
            served, the first one that is.
        candidate_version: Whose schema they were held to; the storage version of the candidate,
            or of the definition.
        is_legacy: Whether objects keep unknown fields under that definition.
        objects: How many were read.
        normalising: What bringing them into their normal form would change.
        violations: Paths and kinds of violations of the schema.
        unwritable: Objects that cannot be updated any more, whatever the update is about.
        unchecked: Objects with rules of which it is not known whether they hold.
        conversions: What each further stored version shows and the storage version does not.
        unread_versions: Stored versions that are not served, so that nobody can read through them.
        undecodable: Objects that the server itself cannot read; the others were surveyed.
        history: What a rewrite would remove, as far as schemas and managedFields tell; None for
            legacy definitions, whose objects are not pruned by a rewrite.
    """

    crd: str
    generation: int
    version: str
    candidate_version: str
    is_legacy: bool
    objects: int
    normalising: Normalising
    violations: Counts
    unwritable: Counts
    unchecked: Counts
    conversions: tuple[ConversionLoss, ...] = ()
    unread_versions: tuple[str, ...] = ()
    undecodable: tuple[str, ...] = ()
    history: Loss | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """
    What a survey looks at, and by which rules.

    Attributes:
        candidate: What the definition may become: objects are held to this one's schema.
        record: What is known since the last proved run; None without one.
        namespaces: Restricts the survey; all if empty.
        page_size: The most objects in a page.
    """

    candidate: Definition | None = None
    record: Record | None = None
    namespaces: Sequence[str] = ()
    page_size: int = DEFAULT_PAGE_SIZE


EVERYTHING = Scope()


class Onlooker(Protocol):
    """
    Is told how far a survey came.
    """

    async def surveyed(self, objects: int, *, remaining: int | None) -> None:
        """
        Take note of a page.

        Args:
            objects: How many were looked at so far.
            remaining: How many follow, if the server said so.

        Raises:
            EspalierError: The survey shall end.
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
    reader = VersionsReader(definition, objects, scope.page_size)
    surveyor = Surveyor(definition, candidate=scope.candidate, clock=clock)
    skipper = Skipper(objects, definition)
    for namespace in dict.fromkeys(scope.namespaces) or ("",):
        listing = reader.listing(namespace)
        async for page, _ in pages(listing, clock, skipper=skipper):
            for obj in page.first.objects:
                surveyor.look_at(obj)
                # Rules may take long, and leases have to be renewed meanwhile.
                await asyncio.sleep(0)
            await reader.compare(page)
            if onlooker is not None:
                await onlooker.surveyed(surveyor.objects, remaining=page.first.remaining)
    return replace(
        surveyor.survey(record=scope.record),
        version=reader.resource.version,
        conversions=tuple(comparison.loss() for comparison in reader.comparisons),
        unread_versions=reader.unread_versions,
        undecodable=skipper.names,
    )


class Looked(NamedTuple):
    """
    What one object was found to be.

    Attributes:
        is_complete: Nothing was left unchecked, so that no violations are none.
    """

    key: ObjectKey
    violations: tuple[FieldError, ...]
    is_complete: bool = True


class Surveyor:
    """
    Looks at objects one by one, wherever they come from.

    Args:
        candidate: What the definition may become; None looks at it as it is.
        clock: Limits how long the rules of one object may take; None for no limit.

    Raises:
        NoStorageVersionError: Not exactly one version is marked.
        SchemaParseError: A schema cannot be read.
    """

    def __init__(
        self,
        definition: Definition,
        *,
        candidate: Definition | None = None,
        clock: Clock | None = None,
    ) -> None:
        effective = candidate or definition
        # A candidate comes from a file: only the cluster tells what is stored.
        self._definition = replace(effective, stored_versions=definition.stored_versions)
        self._structural = crd.structural_of(effective.storage)
        self._normalizer = schema.compile_normalizer(self._structural, profile=Profile.APISERVER)
        self._preserving = schema.compile_normalizer(
            self._structural, profile=Profile.APISERVER, preserve_unknown_fields=True
        )
        self._pruner = Pruner(effective) if effective.preserve_unknown_fields else None
        self._historian = Historian(effective)
        self._counters = {name: Counter() for name in Normalising.__dataclass_fields__}
        self._violations = Counter()
        self._unwritable = Counter()
        self._unchecked = Counter()
        rules = CelJudge(
            monotonic_seconds=clock.monotonic_seconds if clock else None,
            seconds_of_object=RULES_SECONDS,
        )
        self._judge = Judge(effective, rules=rules)
        self.objects = 0

    def look_at(self, obj: dict[str, JSON]) -> Looked:
        """
        Take an object into account; it is not changed.
        """
        self.objects += 1
        key = key_of(obj)
        self._historian.add(metadata_of(obj))
        api_version = f"{self._definition.group}/{self._definition.storage.name}"
        if obj.get("apiVersion") != api_version:
            obj = {**obj, "apiVersion": api_version}
        if self._pruner is not None:
            self._look_carefully(key, obj, self._pruner)
        return self._normalise(key, obj)

    def survey(self, *, record: Record | None = None) -> Survey:
        """
        Tell what was found.
        """
        definition = self._definition
        history = None
        if not definition.preserve_unknown_fields:
            history = judge(definition, self._structural, record, self._historian.history())
        return Survey(
            crd=definition.name,
            generation=definition.generation,
            version=definition.storage.name,
            candidate_version=definition.storage.name,
            is_legacy=definition.preserve_unknown_fields,
            objects=self.objects,
            normalising=Normalising(
                **{name: counter.counts() for name, counter in self._counters.items()}
            ),
            violations=self._violations.counts(),
            unwritable=self._unwritable.counts(),
            unchecked=self._unchecked.counts(),
            history=history,
        )

    def _look_carefully(self, key: ObjectKey, obj: dict[str, JSON], pruner: Pruner) -> None:
        careful = pruner.prune(obj)
        self._count("pruned", key, map(general, careful.removed))
        self._count("mistyped", key, map(general, careful.mistyped))
        self._count("emptied", key, careful.emptied)

    def _normalise(self, key: ObjectKey, obj: dict[str, JSON]) -> Looked:
        value: JSON = obj
        try:
            if not self._normalizer.is_normal(obj):
                normal = self._normalizer(obj)
                self._count("removed", key, map(general, normal.removed))
                self._count("dropped", key, map(general, normal.dropped))
                self._count("filled", key, map(general, normal.filled))
                value = normal.value if self._pruner is None else self._preserving(obj).value
        except MalformedValueError:
            self._count("malformed", key, ["metadata"])
            return Looked(key, (), is_complete=False)
        verdict = self._judge.judge(value)
        self._violations.add(key, without_values(verdict.errors))
        blocking = (*verdict.refusals, *verdict.status_refusals)
        self._unwritable.add(key, without_values(blocking))
        self._unchecked.add(key, without_values(verdict.unchecked))
        return Looked(key, verdict.errors, is_complete=not verdict.unchecked)

    def _count(self, kind: str, key: ObjectKey, paths: Iterable[str]) -> None:
        self._counters[kind].add(key, paths)
