"""
What a pass counts, and which objects it names.

Bounded: however many objects fail, a few causes with a few names each are kept.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from espalier.engine.ports import ObjectKey
from espalier.engine.ports.meter import WriteCounts
from espalier.engine.status.text import MAX_NAMED, enumerated
from espalier.plurals import counted

MAX_CAUSES = 20
MAX_FAILED = 1000
"""How many of the objects that failed are kept by name, so that they can be tried by themselves."""

MAX_LEFT_NAMED = 10
"""How many objects are named that were left alone."""

MAX_WRITERS = 100
"""How many field managers are kept by name."""

MAX_LOSSES = 1000
"""How many distinct losses are kept."""

OTHER_CAUSES = "other causes"


@dataclass(slots=True)
class Offenders:
    """
    Some of the objects that share a kind of cause.

    Attributes:
        cause: The cause of one of them, the first by text, so that it is not left to chance.
        is_mixed: Whether others have another cause.
        most: How many objects are kept by name.
    """

    count: int = 0
    first: list[ObjectKey] = field(default_factory=list)
    cause: str = ""
    is_mixed: bool = False
    most: int = MAX_NAMED

    def add(self, key: ObjectKey, cause: str = "") -> None:
        """
        Count an object, and keep its name if it is one of the first.
        """
        if not self.count:
            self.cause = cause
        self.is_mixed = self.is_mixed or cause != self.cause
        self.cause = min(self.cause, cause)
        self.count += 1
        if len(self.first) < self.most:
            self.first.append(key)

    def __str__(self) -> str:
        return enumerated(map(str, sorted(self.first)), total=self.count, most=self.most)


@dataclass(slots=True, kw_only=True)
class Tally:
    """
    The counts of one pass.

    Attributes:
        seen: All objects that were worked on.
        namespaces: Where they were found.
        rewritten: Those whose stored bytes were not right before.
        rewritten_first: The first ones of these.
        was_at_storage_version: Those of them whose bytes were shown to be at the storage version.
        writers: The field managers that wrote them through another version, with the number of
            objects for each.
        pruned: Those from which Espalier removed something; they count as rewritten too.
        unchanged: Those for which the server answered that nothing had to be written.
        proved: Those that were not written, since a write of an earlier pass is a proof.
        gone: Those that were deleted meanwhile.
        conflicts: How many of those that failed were written by other clients at each try.
        unanswered: How many of those that failed got no answer, or one that the server is busy.
        outage: How many of those in a row, without any success while they were tried.
        forbidden: How many of those that failed were refused by a 403.
        failures: By kind of cause.
        failed_causes: The first objects that failed, each with its cause.
        mistyped: Objects with values of the wrong type, which own pruning leaves alone.
        undecodable: Objects that the server itself cannot read, or where they are.
        skipped: Objects that were left alone since a GitOps controller manages them.
        left_alone: Objects of which something would or might be lost.
        would_lose: What that is, with the number of objects for each.
        is_loss_cut: Whether there was more of it than is kept.
        admission: What could not be found out about admission before writing; may be empty.
        is_consistent: Whether no list had to go on at another resource version than it began at.
    """

    seen: int = 0
    namespaces: set[str] = field(default_factory=set)
    rewritten: int = 0
    rewritten_first: list[ObjectKey] = field(default_factory=list)
    was_at_storage_version: int = 0
    writers: dict[str, int] = field(default_factory=dict)
    pruned: int = 0
    unchanged: int = 0
    proved: int = 0
    gone: int = 0
    conflicts: int = 0
    unanswered: int = 0
    outage: int = 0
    forbidden: int = 0
    failures: dict[str, Offenders] = field(default_factory=dict)
    failed_causes: dict[ObjectKey, str] = field(default_factory=dict)
    mistyped: Offenders = field(default_factory=Offenders)
    skipped: Offenders = field(default_factory=Offenders)
    left_alone: Offenders = field(default_factory=lambda: Offenders(most=MAX_LEFT_NAMED))
    would_lose: dict[str, int] = field(default_factory=dict)
    is_loss_cut: bool = False
    undecodable: tuple[str, ...] = ()
    admission: str = ""
    is_consistent: bool = True

    @property
    def failed(self) -> int:
        """
        How many objects failed.
        """
        return sum(offenders.count for offenders in self.failures.values())

    @property
    def failed_keys(self) -> list[ObjectKey]:
        """
        The first objects that failed, by namespace and name.
        """
        return sorted(self.failed_causes)

    def writes(self) -> WriteCounts:
        """
        Count what became of the objects that were written, until now.
        """
        return WriteCounts(
            rewritten=self.rewritten,
            unchanged=self.unchanged,
            conflict=self.conflicts,
            gone=self.gone,
            rejected=self.failed - self.conflicts - self.unanswered,
            unanswered=self.unanswered,
        )

    def rewrite(self, key: ObjectKey, *, is_pruned: bool) -> None:
        """
        Count an object whose stored bytes were not right, and keep its name if it is a first one.
        """
        self.rewritten += 1
        self.pruned += is_pruned
        if len(self.rewritten_first) < MAX_NAMED:
            self.rewritten_first.append(key)

    def name_writers(self, names: Iterable[str]) -> None:
        """
        Count an object that these field managers wrote through another version.
        """
        for name in names:
            if name in self.writers or len(self.writers) < MAX_WRITERS:
                self.writers[name] = self.writers.get(name, 0) + 1

    def leave_alone(self, key: ObjectKey, items: Iterable[str]) -> None:
        """
        Count an object that was not written, since something of it would or might be lost.

        Args:
            items: What that is.
        """
        self.left_alone.add(key)
        for item in items:
            if item in self.would_lose or len(self.would_lose) < MAX_LOSSES:
                self.would_lose[item] = self.would_lose.get(item, 0) + 1
            else:
                self.is_loss_cut = True

    def fail(self, key: ObjectKey, cause: str, *, kind: str = "") -> None:
        """
        Count an object that could not be brought into form.

        Args:
            kind: What causes are grouped by; the cause itself if empty.
        """
        if len(self.failed_causes) < MAX_FAILED:
            self.failed_causes[key] = cause
        kind = kind or cause
        if kind not in self.failures and len(self.failures) >= MAX_CAUSES:
            kind = cause = OTHER_CAUSES
        self.failures.setdefault(kind, Offenders()).add(key, cause)


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """
    What became of the objects in all passes of a run.

    Attributes:
        rewritten: Whose stored bytes were not right, in any pass.
        unchanged: Whose stored bytes were right from the start.
        gone: Deleted meanwhile.
        conflict: Written by others at each try in the last pass.
        rejected: Refused by the server in the last pass.
        unanswered: For which the server was too busy, or unable, in the last pass.
        skipped: Left alone since a GitOps controller manages them.
        left_alone: Left alone since something of them would or might be lost.
        failed: The first objects that failed in the last pass, each with its cause.
    """

    rewritten: int = 0
    unchanged: int = 0
    gone: int = 0
    conflict: int = 0
    rejected: int = 0
    unanswered: int = 0
    skipped: int = 0
    left_alone: int = 0
    failed: tuple[tuple[ObjectKey, str], ...] = ()


def total(passes: Sequence[Tally]) -> Totals | None:
    """
    Sum up the passes of a run, of which each went over the same objects; None if there were none.
    """
    if not passes:
        return None
    last = passes[-1]
    rewritten = sum(tally.rewritten for tally in passes)
    left = last.seen - last.gone - last.failed - last.skipped.count - last.left_alone.count
    return Totals(
        rewritten=rewritten,
        unchanged=max(left - rewritten, 0),
        gone=sum(tally.gone for tally in passes),
        conflict=last.conflicts,
        rejected=last.failed - last.conflicts - last.unanswered,
        unanswered=last.unanswered,
        skipped=last.skipped.count,
        left_alone=last.left_alone.count,
        failed=tuple(sorted(last.failed_causes.items())),
    )


def describe_failures(failures: Mapping[str, Offenders]) -> str:
    """
    Describe how many objects failed, why, and the first ones by name.
    """
    worst = sorted(failures.items(), key=lambda item: (-item[1].count, item[0]))
    return "; ".join(
        f"{counted(offenders.count, 'object')}: {_cause_message(offenders)} ({offenders})"
        for _, offenders in worst[:MAX_NAMED]
    )


def _cause_message(offenders: Offenders) -> str:
    return f"{offenders.cause}, and the like" if offenders.is_mixed else offenders.cause
