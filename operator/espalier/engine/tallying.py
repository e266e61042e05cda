"""
What a pass counts, and which objects it names.

Bounded: however many objects fail, a few causes with a few names each are kept.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from espalier.engine.conditions import MAX_NAMED, counted, enumerated
from espalier.engine.ports import ObjectKey
from espalier.errors import ClusterError, RejectedError
from espalier.findings import ErrorType

MAX_CAUSES = 20
MAX_FAILED = 1000
"""How many of the objects that failed are kept by name, so that they can be tried by themselves."""

OTHER_CAUSES = "other causes"

_KINDS = "|".join(re.escape(kind.value.strip()) for kind in ErrorType)
# The texts of field errors hold values, so only the path and the kind are taken from them.
_FIELD_ERROR = re.compile(rf"(?P<path>[^\s:\"]{{1,200}}): (?P<kind>{_KINDS})\b")
_ADMISSION = re.compile(
    r"admission webhook \"[^\"\s]{1,253}\"|ValidatingAdmissionPolicy '[^'\s]{1,253}'"
)


@dataclass(slots=True)
class Offenders:
    """
    Some of the objects that share a cause.
    """

    count: int = 0
    first: list[ObjectKey] = field(default_factory=list)

    def add(self, key: ObjectKey) -> None:
        """
        Count an object, and keep its name if it is one of the first.
        """
        self.count += 1
        if len(self.first) < MAX_NAMED:
            self.first.append(key)

    def __str__(self) -> str:
        return enumerated((str(key) for key in self.first), total=self.count)


@dataclass(slots=True, kw_only=True)
class Tally:
    """
    The counts of one pass.

    Attributes:
        seen: All objects that were worked on.
        rewritten: Those whose stored bytes were not right before.
        pruned: Those from which Espalier removed something; they count as rewritten too.
        unchanged: Those of which the server said that nothing had to be written.
        gone: Those that were deleted meanwhile.
        forbidden: How many of those that failed were refused by a 403.
        failures: By cause.
        failed_keys: The first objects that failed.
        mistyped: Objects with values of the wrong type, which own pruning leaves alone.
        undecodable: Objects that the server itself cannot read, or where they are.
        skipped: Objects that were left alone since a GitOps controller manages them.
        admission: What dry runs have not told, in sentences for people.
    """

    seen: int = 0
    rewritten: int = 0
    pruned: int = 0
    unchanged: int = 0
    gone: int = 0
    forbidden: int = 0
    failures: dict[str, Offenders] = field(default_factory=dict)
    failed_keys: list[ObjectKey] = field(default_factory=list)
    mistyped: Offenders = field(default_factory=Offenders)
    skipped: Offenders = field(default_factory=Offenders)
    undecodable: tuple[str, ...] = ()
    admission: str = ""

    @property
    def failed(self) -> int:
        """
        How many objects failed.
        """
        return sum(offenders.count for offenders in self.failures.values())

    def fail(self, key: ObjectKey, cause: str) -> None:
        """
        Count an object that could not be brought into form.
        """
        if len(self.failed_keys) < MAX_FAILED:
            self.failed_keys.append(key)
        if cause not in self.failures and len(self.failures) >= MAX_CAUSES:
            cause = OTHER_CAUSES
        self.failures.setdefault(cause, Offenders()).add(key)


def describe_failures(failures: Mapping[str, Offenders]) -> str:
    """
    Say how many objects failed, why, and the first ones by name.
    """
    worst = sorted(failures.items(), key=lambda item: -item[1].count)
    return "; ".join(
        f"{counted(offenders.count, 'object')}: {cause} ({offenders})"
        for cause, offenders in worst[:MAX_NAMED]
    )


def cause_of(error: ClusterError) -> str:
    """
    Tell an error's cause without any value of the object that it is about.
    """
    status = f"{error.status} {error.reason}".strip() if error.status else error.reason
    texts = error.causes if isinstance(error, RejectedError) else ()
    admission = _ADMISSION.search(error.detail)
    if admission is not None:
        return f"{status}, denied by {admission[0]}"
    found = {
        f"{match['path']}: {match['kind']}"
        for text in (*texts, error.detail)
        for match in _FIELD_ERROR.finditer(text)
    }
    return f"{status}, {enumerated(sorted(found))}" if found else status or type(error).__name__
