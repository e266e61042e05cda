"""
What a survey computes of one object: bounded, free of values, and small enough to be pickled.

An ``Examination`` is sent to worker processes. So is an ``Examined`` from there: it keeps a bounded
number of paths of bounded length, whatever the object is made of.
"""

import hashlib
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import orjson

from espalier import crd, schema
from espalier.crd import Definition
from espalier.engine.legacy.pruner import Pruner
from espalier.engine.status.path_counts import MAX_PATHS, general
from espalier.engine.surveys.annotation_text import render_violations
from espalier.engine.surveys.object_verdict import StoredObjectJudge, without_values
from espalier.engine.surveys.size import stored_bytes
from espalier.errors import MalformedValueError
from espalier.paths import JSON
from espalier.schema import Profile
from espalier.schema.rules.judge import CelJudge

NEVER_SECONDS = float("inf")


class Examined(NamedTuple):
    """
    What one object was found to be.

    Attributes:
        paths: By the kind of finding, at most one more than a ``Counter`` keeps.
        annotation: The text that describes its violations; None if there are none.
        is_complete: Nothing was left unchecked, so that no violations are none.
        size_bytes: In its normal form, as the server writes it to etcd; 0 if that is not known.
    """

    paths: dict[str, frozenset[str]]
    annotation: str | None = None
    is_complete: bool = True
    size_bytes: int = 0


class ObjectExaminer:
    """
    Examines the objects of one definition, one by one.

    Args:
        monotonic_seconds: A clock; without one the rules of an object may take any time.
        rules_seconds: How long they may take.

    Raises:
        NoStorageVersionError: Not exactly one version is marked.
        SchemaParseError: A schema cannot be read.
    """

    def __init__(
        self,
        definition: Definition,
        *,
        monotonic_seconds: Callable[[], float] | None = None,
        rules_seconds: float = NEVER_SECONDS,
    ) -> None:
        self._api_version = f"{definition.group}/{definition.storage.name}"
        structural = crd.structural_of(definition.storage)
        self._normalizer = schema.compile_normalizer(structural, profile=Profile.APISERVER)
        self._preserving = schema.compile_normalizer(
            structural, profile=Profile.APISERVER, preserve_unknown_fields=True
        )
        self._pruner = Pruner(definition) if definition.preserve_unknown_fields else None
        rules = CelJudge(monotonic_seconds=monotonic_seconds, seconds_of_object=rules_seconds)
        self._judge = StoredObjectJudge(definition, rules=rules)

    def examine(self, obj: dict[str, JSON]) -> Examined:
        """
        Examine an object; it is not changed.
        """
        if obj.get("apiVersion") != self._api_version:
            obj = {**obj, "apiVersion": self._api_version}
        found: dict[str, frozenset[str]] = {}
        if self._pruner is not None:
            careful = self._pruner.prune(obj)
            found["pruned"] = _bounded(map(general, careful.removed))
            found["mistyped"] = _bounded(map(general, careful.mistyped))
            found["emptied"] = _bounded(careful.emptied)
        value: JSON = obj
        try:
            if not self._normalizer.is_normal(obj):
                normal = self._normalizer(obj)
                found["removed"] = _bounded(map(general, normal.removed))
                found["dropped"] = _bounded(map(general, normal.dropped))
                found["filled"] = _bounded(map(general, normal.filled))
                value = normal.value if self._pruner is None else self._preserving(obj).value
        except MalformedValueError:
            found["malformed"] = frozenset(["metadata"])
            return Examined(found, is_complete=False)
        return self._judged(value, found)

    def _judged(self, value: JSON, found: dict[str, frozenset[str]]) -> Examined:
        verdict = self._judge.judge(value)
        blocking = (*verdict.refusals, *verdict.status_refusals)
        found["violations"] = _bounded(without_values(verdict.errors))
        found["unwritable"] = _bounded(without_values(blocking))
        found["unchecked"] = _bounded(without_values(verdict.unchecked))
        annotation = render_violations(verdict.errors)
        return Examined(found, annotation, not verdict.unchecked, stored_bytes(value))


@dataclass(frozen=True, slots=True, eq=False)
class Examination:
    """
    The examination of a definition's objects, as worker processes compute it.

    Attributes:
        digest: Of all that it depends on.
    """

    definition: Definition
    digest: str

    def prepare(self) -> Callable[[dict[str, JSON]], Examined]:
        """
        Compile the schema, and its rules by the examination of an empty object.
        """
        examine = ObjectExaminer(self.definition).examine
        examine({"kind": self.definition.kind, "metadata": {"name": "none"}})
        return examine


def examination_of(definition: Definition) -> Examination:
    """
    Make the examination by a definition.
    """
    parts = [
        definition.group,
        definition.kind,
        definition.namespaced,
        definition.preserve_unknown_fields,
        [[one.name, one.storage, one.has_status, one.schema] for one in definition.versions],
    ]
    try:
        content = orjson.dumps(parts)
    except orjson.JSONEncodeError:
        # Nested too deeply for the encoder.
        content = f"{definition.name} {definition.uid} {definition.generation}".encode()
    # No more than what counts; a mapping proxy cannot be pickled.
    definition = replace(definition, labels={}, annotations={}, conditions=())
    return Examination(definition, f"examine {hashlib.sha256(content).hexdigest()}")


def _bounded(paths: Iterable[str]) -> frozenset[str]:
    distinct = dict.fromkeys(paths)
    # One more than is kept shows that there were more.
    return frozenset(itertools.islice(distinct, MAX_PATHS + 1))
