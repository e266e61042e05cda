"""
The records that a survey returns.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from espalier.engine.conversion.comparison import ConversionLoss
from espalier.engine.policy.loss_message import describe_loss
from espalier.engine.ports import ObjectKey
from espalier.engine.ports.meter import ObjectCounts
from espalier.engine.status.path_counts import Counts, PathCount

MAX_SHOWN_PATHS = 5
"""How many paths are shown beside the numbers."""

MAX_SHOWN_CHARACTERS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Normalising:
    """
    What bringing objects into their normal form would change.

    Attributes:
        removed: Fields that the API server's pruning would remove. For a definition that it
            prunes and without a candidate there are none: the server never shows what it prunes.
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
        not_judged: Objects of which nothing of this is known, since it takes too long, by the
            reason.
        large: Objects that, in their normal form, are near what etcd takes in one request, or over
            it: the paths are ``near`` and ``over``.
        largest_bytes: The size of the largest of these; 0 if there is none.
        largest: The largest of these.
        conversions: What each further stored version shows and the storage version does not.
        unread_versions: Stored versions that are not served, so that no client can read them.
        undecodable: Objects that the server itself cannot read; the others were surveyed.
        would_lose: What a rewrite would or might remove, as far as can be known without comparing
            versions; None where nothing is pruned by a rewrite, or a candidate is surveyed.
        spent: How many consents to a loss were spent before.
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
    not_judged: Counts = field(default_factory=Counts)
    large: Counts = field(default_factory=Counts)
    largest_bytes: int = 0
    largest: ObjectKey | None = None
    conversions: tuple[ConversionLoss, ...] = ()
    unread_versions: tuple[str, ...] = ()
    undecodable: tuple[str, ...] = ()
    would_lose: Counts | None = None
    spent: int = 0

    @property
    def counts(self) -> ObjectCounts:
        """
        The numbers of objects, and the most frequent paths.
        """
        lost = self.would_lose.paths if self.would_lose is not None else ()
        return ObjectCounts(
            objects=self.objects,
            invalid=self.violations.objects,
            unwritable=self.unwritable.objects,
            undecodable=len(self.undecodable),
            lost=_shown(lost, describe_loss),
            violated=_shown(self.violations.paths, str),
        )


def _shown(
    paths: Sequence[PathCount], describe: Callable[[str], str]
) -> tuple[tuple[str, int], ...]:
    # Whoever writes objects chooses keys of maps, which are part of paths.
    return tuple(
        (describe(one.path)[:MAX_SHOWN_CHARACTERS], one.objects) for one in paths[:MAX_SHOWN_PATHS]
    )


class Looked(NamedTuple):
    """
    What one object was found to be.

    Attributes:
        annotation: The text that describes its violations; None if there are none.
        is_complete: Nothing was left unchecked, so that no violations are none.
    """

    key: ObjectKey
    annotation: str | None = None
    is_complete: bool = True
