"""
Runs that leave steps out: which ones, and what they report at their end.

Stored versions are trimmed only where every object was looked at and rewritten.
"""

from collections.abc import Iterator, Sequence

from espalier import names
from espalier.crd import Condition, Definition
from espalier.engine.policy.plan import Legacy, Plan
from espalier.engine.policy.windows import Window, until_closed
from espalier.engine.ports.clock import Clock
from espalier.engine.status import conditions
from espalier.engine.status.conditions import Reason
from espalier.engine.status.tally import Tally
from espalier.errors import RunStoppedError
from espalier.plurals import counted


def restrictions_of(
    planned: Plan, tally: Tally | None, *, only_failed: bool = False
) -> tuple[str, ...]:
    """
    Return the reasons why a run must not trim, whatever its passes have shown.
    """
    return tuple(_restrictions(planned, tally, only_failed=only_failed))


def _restrictions(planned: Plan, tally: Tally | None, *, only_failed: bool) -> Iterator[str]:
    policy = planned.policy
    if only_failed:
        yield "only the objects that had failed; a whole run proves and trims"
    if not policy.does("migrate"):
        yield f"label {names.step_label('migrate')}=false"
    if policy.namespaces:
        yield f"only{within_text(policy.namespaces)}, annotation {names.NAMESPACES}"
    if tally is not None and tally.skipped.count:
        skipped = counted(tally.skipped.count, "object")
        yield (
            f"{skipped} that a GitOps controller manages left alone ({tally.skipped}),"
            f" label {names.SKIP_OWNED}=true"
        )


def condition_of(
    planned: Plan,
    definition: Definition,
    tally: Tally | None,
    *,
    note: str = "",
    only_failed: bool = False,
) -> tuple[Condition, ...]:
    """
    Make the condition of a run that has come to its end.

    Args:
        definition: As it is now: its generation may be a newer one than the run's.
        tally: Of the last pass; None if there was nothing to pass over.
        note: A sentence to add.
    """
    restrictions = restrictions_of(planned, tally, only_failed=only_failed)
    notes = ". ".join(filter(None, (*_notes(planned, tally), note)))
    if tally is not None and not restrictions:
        return conditions.current(definition, objects=tally.seen, note=notes)
    done = "no object was rewritten"
    if tally is not None:
        done = _done(planned, tally)
    message = (
        f"{done}. Restricted: {'; '.join(restrictions)}. storedVersions stays as it is:"
        f" {', '.join(definition.stored_versions)}"
    )
    return conditions.not_current(Reason.PARTIAL, f"{message}. {notes}" if notes else message)


async def closing(window: Window, clock: Clock) -> None:
    """
    Wait until work is not allowed any more, and end by an error then.

    Raises:
        RunStoppedError: Always, in the end.
    """
    await until_closed(window, clock)
    raise RunStoppedError(Reason.OUTSIDE_WINDOW, outside_message(window))


def outside_message(window: Window) -> str:
    """
    Describe that nothing is written now, and when it will be.
    """
    return (
        f"objects are written at {window} UTC only, as the annotation {names.WINDOW} says;"
        " what is done stays done, and the run goes on then"
    )


def _done(planned: Plan, tally: Tally) -> str:
    seen = tally.seen - tally.skipped.count
    if not planned.policy.does("migrate"):
        return f"no unknown fields are left in {counted(seen, 'object')}"
    verb = "is" if seen == 1 else "are"
    version = planned.definition.storage.name
    return f"{counted(seen, 'object')} {verb} in normal form at the storage version {version}"


def within_text(namespaces: Sequence[str]) -> str:
    """
    Name the namespaces that a run is restricted to; empty if it is not.
    """
    return f" in the namespaces {', '.join(namespaces)}" if namespaces else ""


def _notes(planned: Plan, tally: Tally | None) -> Iterator[str]:
    left_out = [step for step in ("prune", "default") if not planned.policy.does(step)]
    if left_out and not isinstance(planned, Legacy) and planned.rewrites:
        labels = " and ".join(f"{names.step_label(step)}=false" for step in left_out)
        yield f"The API server prunes and defaults whatever is written, in spite of {labels}"
    if tally is not None:
        empty = [name for name in planned.policy.namespaces if name not in tally.namespaces]
        if empty:
            noun = "namespace has" if len(empty) == 1 else "namespaces have"
            yield f"The {noun} no such object, perhaps it is misspelt: {', '.join(empty)}"
    if tally is not None and tally.mistyped.count:
        values = f"{counted(tally.mistyped.count, 'object')} ({tally.mistyped})"
        yield f"Values of the wrong type stay, with all they hold: {values}"
    if tally is not None:
        yield tally.admission
