"""
How a run ended.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from espalier.crd import Condition, Definition
from espalier.engine.ports.reporter import Reporter
from espalier.engine.status.tally import Totals


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """
    How a run ended.

    Attributes:
        definition: As last read; None if it is gone.
        conditions: What was reported last; none if the definition does not ask for anything.
        is_proved: Every stored object was shown to be current, and the stored versions are trimmed.
        watches_on: New objects must be watched, see ``keep_pruned``; if it retries, until then.
        retries: Trying again can help though the definition does not change.
        again_seconds: When to look at it again though nothing has failed; None for never.
        totals: What became of the objects; None where no pass was to be made, or none is known of.
    """

    definition: Definition | None
    conditions: tuple[Condition, ...] = ()
    is_proved: bool = False
    watches_on: bool = False
    retries: bool = False
    again_seconds: float | None = None
    totals: Totals | None = None

    @property
    def reason(self) -> str:
        """
        The reason of ``espalier.dev/StoredObjectsCurrent``; empty without conditions.
        """
        return self.conditions[0].reason if self.conditions else ""


async def end(  # noqa: PLR0913 - an outcome's fields, each named
    definition: Definition,
    reporter: Reporter,
    conditions: Sequence[Condition],
    *,
    is_proved: bool = False,
    watches_on: bool = False,
    retries: bool = False,
    again_seconds: float | None = None,
    totals: Totals | None = None,
) -> RunOutcome:
    """
    Report the last conditions of a run, and return its outcome.
    """
    await reporter.report(definition, conditions)
    return RunOutcome(
        definition=definition,
        conditions=tuple(conditions),
        is_proved=is_proved,
        watches_on=watches_on,
        retries=retries,
        again_seconds=again_seconds,
        totals=totals,
    )
