"""
The objects that failed in the last run, by name, so that they can be tried again by themselves.

A run on nothing but these is a success only where it is known which ones they were.
"""

from dataclasses import replace
from functools import partial

from espalier.engine.coordination.checkpoint import REWRITE, Progress
from espalier.engine.coordination.ledger import Ledger, load_known, open_ledger
from espalier.engine.policy.labels import Policy
from espalier.engine.policy.plan import Plan, run_key
from espalier.engine.policy.restrictions import within_text
from espalier.engine.ports import ObjectKey
from espalier.engine.settings import RecordPorts
from espalier.engine.status.conditions import Reason
from espalier.engine.status.tally import MAX_FAILED, Tally
from espalier.errors import RunStoppedError
from espalier.plurals import counted

_WHOLE_RUN = "a whole run looks at all objects"


async def open_last_ledger(planned: Plan, ports: RecordPorts) -> Ledger:
    """
    Open the ledger of the last run that a plan can go on from.

    A run on some namespaces goes on from a run on the same ones, or else from one on all objects.

    Raises:
        RunStoppedError: There was none; what others have noted stays as it is.
    """
    definition, policy = planned.definition, planned.policy
    found = (await load_known(ports, definition)).checkpoint
    open_at = partial(open_ledger, ports, definition)
    whole_key = run_key(definition, replace(policy, namespaces=()))
    if found is not None:
        restricted = found.restricted
        if policy.namespaces and restricted is not None and restricted.key == planned.key:
            return await open_at(key=planned.key, is_restricted=True)
        if found.whole.key == whole_key:
            return await open_at(key=whole_key, is_restricted=False)
    raise RunStoppedError(
        Reason.FAILED,
        "no run before this one has noted what failed for these schemas, steps and namespaces;"
        f" {_WHOLE_RUN}",
    )


def failed_of(progress: Progress, policy: Policy) -> tuple[ObjectKey, ...]:
    """
    Name what failed in the last run, and is to be worked on.

    Raises:
        RunStoppedError: Nothing did, or the run was stopped before it got through.
    """
    if progress.phase == REWRITE or not (progress.phase or progress.proved_generation):
        raise RunStoppedError(
            Reason.FAILED,
            "the last run did not get through all objects, so it is not known which ones fail;"
            f" {_WHOLE_RUN}",
        )
    names = policy.namespaces
    failed = tuple(key for key in progress.failed if not names or key.namespace in names)
    if not failed and progress.failed_total == len(progress.failed):
        raise RunStoppedError(
            Reason.FAILED,
            f"no object had failed in the last run{within_text(names)}; {_WHOLE_RUN},"
            " and proves it",
        )
    return failed


def with_failures(progress: Progress, tally: Tally, *, before: Progress) -> Progress:
    """
    Add the objects that failed in a pass to the progress.

    Args:
        before: The progress before the part of the pass that the tally counts.
    """
    return replace(
        progress,
        failed=(*before.failed, *tally.failed_keys)[:MAX_FAILED],
        failed_total=before.failed_total + tally.failed,
    )


def unnamed_message(number: int) -> str:
    """
    Describe that more objects had failed than were tried again.
    """
    return f"{counted(number, 'more object')} had failed than are kept by name; {_WHOLE_RUN}"
