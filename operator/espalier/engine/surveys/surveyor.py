"""
Looks at one object at a time and adds what it finds to a survey.
"""

from collections.abc import Iterable
from dataclasses import replace

from espalier import crd, schema
from espalier.crd import Definition
from espalier.engine.legacy.pruner import Pruner
from espalier.engine.ports import ObjectKey, key_of
from espalier.engine.ports.clock import Clock
from espalier.engine.status.path_counts import Counter, general
from espalier.engine.surveys.object_verdict import StoredObjectJudge, without_values
from espalier.engine.surveys.report import Looked, Normalising, Survey
from espalier.errors import MalformedValueError
from espalier.paths import JSON
from espalier.schema import Profile
from espalier.schema.rules.judge import CelJudge

RULES_SECONDS = 2.0
"""How long the rules of one object may take; nothing else is done meanwhile."""


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
        # A candidate comes from a file: only the cluster's definition has the stored versions.
        self._definition = replace(effective, stored_versions=definition.stored_versions)
        self._structural = crd.structural_of(effective.storage)
        self._normalizer = schema.compile_normalizer(self._structural, profile=Profile.APISERVER)
        self._preserving = schema.compile_normalizer(
            self._structural, profile=Profile.APISERVER, preserve_unknown_fields=True
        )
        self._pruner = Pruner(effective) if effective.preserve_unknown_fields else None
        self._counters = {name: Counter() for name in Normalising.__dataclass_fields__}
        self._violations = Counter()
        self._unwritable = Counter()
        self._unchecked = Counter()
        rules = CelJudge(
            monotonic_seconds=clock.monotonic_seconds if clock else None,
            seconds_of_object=RULES_SECONDS,
        )
        self._judge = StoredObjectJudge(effective, rules=rules)
        self.objects = 0

    def look_at(self, obj: dict[str, JSON]) -> Looked:
        """
        Take an object into account; it is not changed.
        """
        self.objects += 1
        key = key_of(obj)
        api_version = f"{self._definition.group}/{self._definition.storage.name}"
        if obj.get("apiVersion") != api_version:
            obj = {**obj, "apiVersion": api_version}
        if self._pruner is not None:
            self._look_carefully(key, obj, self._pruner)
        return self._normalise(key, obj)

    def survey(self) -> Survey:
        """
        Return what was found.
        """
        definition = self._definition
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
