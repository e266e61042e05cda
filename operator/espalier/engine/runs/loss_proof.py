"""
That nothing would be lost: found out before the first write, by reading alone.
"""

from collections.abc import Sequence
from functools import partial

from espalier import crd
from espalier.engine.legacy.prune_pass import Removing
from espalier.engine.policy.loss import ADVICE, History, Loss, ManagedFieldsScan, Record, judge
from espalier.engine.policy.plan import ServerPruned
from espalier.engine.ports import StoredMetadata
from espalier.engine.rewriting.passes import Listener, Passes
from espalier.engine.rewriting.workload import Rewriting
from espalier.engine.status.conditions import Reason
from espalier.errors import RunStoppedError


async def prove_harmless(
    planned: ServerPruned,
    work: Rewriting,
    listener: Listener,
    record: Record | None,
) -> History:
    """
    Read all metadata and tell what a rewrite would lose.

    Where some objects could not be read, the work looks at all of them again, a page at a time and
    right before it is written: somebody may have repaired them meanwhile.

    Raises:
        RunStoppedError: Something would be lost, or nothing can tell, and nobody accepts it.
    """
    historian = ManagedFieldsScan(planned.definition)
    # What is not rewritten loses nothing.
    unread = await Passes(work, listener).read_all(historian.add)
    history = historian.history()
    loss = _loss_of(planned, record, history)
    if not loss.is_nothing:
        raise RunStoppedError(Reason.WOULD_LOSE_DATA, loss.describe())
    if unread:
        work.vet = partial(_vet, planned, record)
    return history


def _vet(planned: ServerPruned, record: Record | None, items: Sequence[StoredMetadata]) -> None:
    historian = ManagedFieldsScan(planned.definition)
    for metadata in items:
        historian.add(metadata)
    loss = _loss_of(planned, record, historian.history())
    if not loss.is_nothing:
        raise RunStoppedError(
            Reason.WOULD_LOSE_DATA,
            f"{loss.summary()}. Not all objects could be read before the rewrite began; it stopped"
            f" before those in which this was found. {ADVICE}",
        )


def _loss_of(planned: ServerPruned, record: Record | None, history: History) -> Loss:
    if planned.policy.is_loss_accepted:
        return Loss(paths={})
    structural = crd.structural_of(planned.definition.storage)
    return judge(planned.definition, structural, record, history)


async def examine_all(work: Removing, listener: Listener) -> None:
    """
    Read all objects of a legacy definition, and see that none would become empty.

    Raises:
        RunStoppedError: One would, and nobody accepts it.
    """
    if not work.remover.policy.is_loss_accepted:
        await Passes(work, listener).read_all(work.remover.examine)
