"""
That nothing would be lost: found out before the first write, by reading alone.
"""

from espalier import crd
from espalier.engine.conditions import Reason
from espalier.engine.losing import Historian, History, Record, judge
from espalier.engine.passing import Listener, read_all
from espalier.engine.planning import Legacy, ServerPruned
from espalier.engine.settings import Ports
from espalier.engine.workloads import Removing, Rewriting
from espalier.errors import RunStoppedError


async def prove_harmless(
    planned: ServerPruned,
    ports: Ports,
    work: Rewriting,
    listener: Listener,
    record: Record | None,
) -> History:
    """
    Read all metadata and tell what a rewrite would lose.

    Raises:
        RunStoppedError: Something would be lost, or nothing can tell, and nobody accepts it.
    """
    structural = crd.structural_of(planned.definition.storage)
    historian = Historian(planned.definition)

    # What is not rewritten loses nothing.
    await read_all(work, historian.add, ports.clock, listener)
    history = historian.history()
    loss = judge(planned.definition, structural, record, history)
    if not loss.is_nothing and not planned.policy.is_loss_accepted:
        raise RunStoppedError(Reason.WOULD_LOSE_DATA, loss.describe())
    return history


async def examine_all(planned: Legacy, ports: Ports, work: Removing, listener: Listener) -> None:
    """
    Read all objects of a legacy definition, and see that none would become empty.

    Raises:
        RunStoppedError: One would, and nobody accepts it.
    """
    if not planned.policy.is_loss_accepted:
        await read_all(work, work.remover.examine, ports.clock, listener)
