"""
Looks at one object at a time and adds what it finds to a survey.
"""

from dataclasses import replace
from functools import cached_property

from espalier.crd import Definition
from espalier.crd.structural import structural_of
from espalier.engine.ports import ObjectKey, key_of
from espalier.engine.ports.clock import Clock
from espalier.engine.ports.workers import NotComputed
from espalier.engine.status.path_counts import Counter
from espalier.engine.surveys.cost import CostEstimate
from espalier.engine.surveys.examination import (
    Examination,
    Examined,
    ObjectExaminer,
    examination_of,
)
from espalier.engine.surveys.report import Looked, Normalising, Survey
from espalier.engine.surveys.size import band_of
from espalier.paths import JSON

RULES_SECONDS = 2.0
"""How long the rules of one object may take; nothing else is done meanwhile."""

_KINDS = (*Normalising.__dataclass_fields__, "violations", "unwritable", "unchecked")


class Surveyor:
    """
    Looks at objects one by one, wherever they come from.

    Args:
        candidate: What the definition may become; None looks at it as it is.
        clock: Limits how long the rules of one object may take; None for no limit.
        rules_seconds: That limit.

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
        rules_seconds: float = RULES_SECONDS,
    ) -> None:
        self._effective = candidate or definition
        # A candidate comes from a file: only the cluster's definition has the stored versions.
        self._definition = replace(self._effective, stored_versions=definition.stored_versions)
        self._counters = {name: Counter() for name in _KINDS}
        self._not_judged = Counter()
        self._large = Counter()
        self._largest: tuple[int, ObjectKey | None] = (0, None)
        self._examiner = ObjectExaminer(
            self._effective,
            monotonic_seconds=clock.monotonic_seconds if clock else None,
            rules_seconds=rules_seconds,
        )
        self.objects = 0

    @cached_property
    def examination(self) -> Examination:
        """
        What worker processes compute of an object.
        """
        return examination_of(self._effective)

    @cached_property
    def cost(self) -> CostEstimate:
        """
        What that costs.
        """
        return CostEstimate(structural_of(self._effective.storage))

    def examine(self, obj: dict[str, JSON]) -> Examined:
        """
        Examine an object, and count nothing.
        """
        return self._examiner.examine(obj)

    def look_at(self, obj: dict[str, JSON]) -> Looked:
        """
        Take an object into account; it is not changed.
        """
        return self.add(key_of(obj), self.examine(obj))

    def add(self, key: ObjectKey, found: Examined | NotComputed, *, more_bytes: int = 0) -> Looked:
        """
        Take into account what was found of an object.

        Args:
            more_bytes: The size of what was left out when it was examined.
        """
        self.objects += 1
        if isinstance(found, NotComputed):
            self._not_judged.add(key, [found.reason])
            return Looked(key, is_complete=False)
        for kind, paths in found.paths.items():
            self._counters[kind].add(key, paths)
        self._measure(key, found.size_bytes and found.size_bytes + more_bytes)
        return Looked(key, found.annotation, is_complete=found.is_complete)

    def _measure(self, key: ObjectKey, size_bytes: int) -> None:
        band = band_of(size_bytes)
        if band:
            self._large.add(key, [band])
            self._largest = max(self._largest, (size_bytes, key), key=lambda one: one[0])

    def survey(self) -> Survey:
        """
        Return what was found.
        """
        definition = self._definition
        counts = {name: counter.counts() for name, counter in self._counters.items()}
        normalising = {name: counts[name] for name in Normalising.__dataclass_fields__}
        return Survey(
            crd=definition.name,
            generation=definition.generation,
            version=definition.storage.name,
            candidate_version=definition.storage.name,
            is_legacy=definition.preserve_unknown_fields,
            objects=self.objects,
            normalising=Normalising(**normalising),
            violations=counts["violations"],
            unwritable=counts["unwritable"],
            unchecked=counts["unchecked"],
            not_judged=self._not_judged.counts(),
            large=self._large.counts(),
            largest_bytes=self._largest[0],
            largest=self._largest[1],
        )
