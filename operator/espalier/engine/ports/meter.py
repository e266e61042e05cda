"""
The port through which a run counts: writes, phases, surveys, trims.

Conditions are for people and come seldom; these are numbers, and none of them is written to the
cluster. Nothing here may fail or wait.
"""

import enum
from collections.abc import Callable
from typing import NamedTuple, Protocol


class Phase(enum.StrEnum):
    """
    What a run does at a time.
    """

    WAIT = "wait"
    PREFLIGHT = "preflight"
    REWRITE = "rewrite"
    SETTLE = "settle"
    VERIFY = "verify"
    TRIM = "trim"
    SURVEY = "survey"


class WriteCounts(NamedTuple):
    """
    What became of the objects that were written.

    Attributes:
        rewritten: Whose stored bytes were not right.
        unchanged: For which nothing had to be written.
        conflict: Written by other clients at each try.
        gone: Deleted meanwhile.
        rejected: Refused by the server.
        unanswered: For which the server was too busy, or unable.
    """

    rewritten: int = 0
    unchanged: int = 0
    conflict: int = 0
    gone: int = 0
    rejected: int = 0
    unanswered: int = 0

    def plus(self, other: "WriteCounts") -> "WriteCounts":
        """
        Return the sums.
        """
        return WriteCounts(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


NO_WRITES = WriteCounts()


class ObjectCounts(NamedTuple):
    """
    What a survey has found.

    Attributes:
        objects: How many were read.
        invalid: Those that violate the schema.
        unwritable: Those that cannot be updated any more.
        undecodable: Those that the server itself cannot read.
        lost: The paths that a rewrite would or might remove in most objects, and in how many.
        violated: The paths that violate the schema in most objects, likewise.
    """

    objects: int
    invalid: int = 0
    unwritable: int = 0
    undecodable: int = 0
    lost: tuple[tuple[str, int], ...] = ()
    violated: tuple[tuple[str, int], ...] = ()


class Meter(Protocol):
    """
    Counts what runs do, by the name of the definition.
    """

    def enter(self, crd: str, phase: Phase) -> None:
        """
        Record that a run begins a phase, and so ends the one before.
        """

    def count_writes(self, crd: str, counts: Callable[[], WriteCounts]) -> None:
        """
        Read the counts of a pass that begins, now and later, until the next one or the run's end.
        """

    def count_annotations(self, crd: str, counts: Callable[[], WriteCounts]) -> None:
        """
        Read the counts of annotations that are written, likewise.
        """

    def survey(self, crd: str, found: ObjectCounts) -> None:
        """
        Record what a survey has found.
        """

    def prune(self, fields: int) -> None:
        """
        Record how many fields Espalier itself has removed from an object.
        """

    def trim(self, crd: str) -> None:
        """
        Record that the stored versions were trimmed.
        """

    def hold_lease(self, crd: str, *, is_held: bool) -> None:
        """
        Record whether this process holds the lease of a definition.
        """

    def lose_lease(self, crd: str) -> None:
        """
        Record that a run ended, or did not begin, since another process has the lease.
        """

    def restart_watch(self, crd: str) -> None:
        """
        Record that the watch of a definition's objects ended and begins anew.
        """


class _Unmetered:
    """
    Counts nothing.
    """

    def enter(self, crd: str, phase: Phase) -> None: ...

    def count_writes(self, crd: str, counts: Callable[[], WriteCounts]) -> None: ...

    def count_annotations(self, crd: str, counts: Callable[[], WriteCounts]) -> None: ...

    def survey(self, crd: str, found: ObjectCounts) -> None: ...

    def prune(self, fields: int) -> None: ...

    def trim(self, crd: str) -> None: ...

    def hold_lease(self, crd: str, *, is_held: bool) -> None: ...

    def lose_lease(self, crd: str) -> None: ...

    def restart_watch(self, crd: str) -> None: ...


UNMETERED: Meter = _Unmetered()
"""For callers that want no numbers."""
