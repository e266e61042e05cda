"""
The objects that failed in the last run, by name, so that they can be tried again by themselves.

A run on nothing but these is a success only where it is known which ones they were.
"""

from dataclasses import replace

from espalier.engine.checkpointing import REWRITE, Progress, load_checkpoint
from espalier.engine.conditions import Reason, counted
from espalier.engine.planning import Plan
from espalier.engine.ports import ObjectKey
from espalier.engine.settings import Ports
from espalier.engine.tallying import MAX_FAILED, Tally
from espalier.errors import RunStoppedError

_WHOLE_RUN = "a whole run looks at all objects"


async def check_last_run(planned: Plan, ports: Ports) -> None:
    """
    See that the last run was for the same thing; what another one noted stays as it is.

    Raises:
        RunStoppedError: It was not, or there was none.
    """
    found = await load_checkpoint(ports.checkpoints, ports.clock, planned.definition)
    progress = None
    if found is not None:
        progress = found.restricted if planned.policy.namespaces else found.whole
    if progress is None or progress.key != planned.key:
        raise RunStoppedError(
            Reason.FAILED,
            "no run before this one has noted what failed for these schemas, steps and namespaces;"
            f" {_WHOLE_RUN}",
        )


def failed_of(progress: Progress) -> tuple[ObjectKey, ...]:
    """
    Name what failed in the last run.

    Raises:
        RunStoppedError: Nothing did, or the run was stopped before it got through.
    """
    if progress.phase == REWRITE or not (progress.phase or progress.proved_generation):
        raise RunStoppedError(
            Reason.FAILED,
            "the last run did not get through all objects, so it is not known which ones fail;"
            f" {_WHOLE_RUN}",
        )
    if not progress.failed_total:
        raise RunStoppedError(
            Reason.FAILED, f"no object had failed in the last run; {_WHOLE_RUN}, and proves it"
        )
    return progress.failed


def with_failures(progress: Progress, tally: Tally, *, before: Progress) -> Progress:
    """
    Take note of what a pass could not bring into form.

    Args:
        before: What had failed before the part of the pass that the tally is of.
    """
    return replace(
        progress,
        failed=(*before.failed, *tally.failed_keys)[:MAX_FAILED],
        failed_total=before.failed_total + tally.failed,
    )


def unnamed_words(number: int) -> str:
    """
    Say that there is more than what was tried again.
    """
    return f"{counted(number, 'more object')} had failed than are kept by name; {_WHOLE_RUN}"
