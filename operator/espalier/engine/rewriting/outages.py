"""
Counts what became of objects, and finds when failures are no longer those of single objects.

One object that cannot be written never stops the others. But a server that cannot write at all
lets each of them fail only after minutes of trying: then it is better to end the run, and to come
again later.
"""

from espalier.engine.coordination.write_gate import LeftAlone
from espalier.engine.ports import ObjectKey
from espalier.engine.rewriting.retries import (
    Failed,
    FailureKind,
    Gone,
    Rewritten,
    Unchanged,
    WriteResult,
)
from espalier.engine.status.conditions import Reason
from espalier.engine.status.tally import Tally
from espalier.errors import RunStoppedError
from espalier.plurals import counted

MAX_OUTAGE = 10
"""How many objects in a row may fail so, before none is tried any more."""


def count(tally: Tally, key: ObjectKey, fate: WriteResult) -> None:
    """
    Count what became of an object.

    Raises:
        RunStoppedError: None can be written any more.
    """
    tally.seen += 1
    match fate:
        case Rewritten():
            tally.rewrite(key, is_pruned=fate.is_pruned)
            tally.was_at_storage_version += fate.was_at_storage_version
            tally.name_writers(fate.writers)
        case Unchanged():
            tally.unchanged += 1
        case Gone():
            tally.gone += 1
        case LeftAlone(items=items):
            tally.leave_alone(key, items)
        case Failed():
            _count_failure(tally, key, fate)
            return
    tally.outage = 0


def _count_failure(tally: Tally, key: ObjectKey, failed: Failed) -> None:
    """
    Count an object that failed.

    A refusal is about one object only. Writes without an answer show an outage, if no other object
    succeeded while they were tried, and none in between.

    Raises:
        RunStoppedError: The server or a webhook is away; the objects are not the reason.
    """
    tally.fail(key, failed.cause, kind=failed.kind)
    tally.forbidden += failed.is_forbidden
    tally.conflicts += failed.why is FailureKind.CONFLICT
    if failed.why not in (FailureKind.UNANSWERED, FailureKind.UNREACHED):
        return
    tally.unanswered += 1
    tally.outage = 0 if failed.is_alone else tally.outage + 1
    if tally.outage < MAX_OUTAGE:
        return
    objects = f"{counted(tally.outage, 'object')} in a row could not be written"
    if failed.why is FailureKind.UNREACHED:
        raise RunStoppedError(
            Reason.WEBHOOK_UNAVAILABLE,
            f"{objects}, since an admission webhook does not answer: {failed.cause}; nothing more"
            " is written until it does",
        )
    raise RunStoppedError(
        Reason.FAILED,
        f"{objects}: {failed.cause}; storedVersions stays as it is; the run is tried again",
    )
