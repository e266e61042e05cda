"""
The last step of a definition in parts: see that all parts are done, then prove and trim.

The proof is that of any run: a verify pass of its own over all objects. What is kept of the parts
decides whether it begins, and nothing else, so that a wrong document of a part cannot cause a trim.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from espalier.crd import Definition
from espalier.engine.coordination.checkpoint import VERIFY
from espalier.engine.coordination.ledger import load_known, open_ledger
from espalier.engine.coordination.run_context import RunContext
from espalier.engine.flowcontrol.pacer import work_through
from espalier.engine.parts.documents import DocumentsOf, read_state
from espalier.engine.policy.labels import read_policy
from espalier.engine.policy.parts import PartState, unfinished_parts, why_not_in_parts
from espalier.engine.policy.plan import Plan, Stop, plan
from espalier.engine.ports import Leases, Reporter
from espalier.engine.ports.state import OtherOperatorError, RecordUnreadableError
from espalier.engine.runs.outcome import RunOutcome, end
from espalier.engine.runs.run import is_proved, run, work_on_all
from espalier.engine.settings import Ports, RunSettings
from espalier.engine.status import conditions
from espalier.engine.status.conditions import Reason
from espalier.engine.status.stop_reasons import why_stopped
from espalier.engine.status.text import enumerated
from espalier.errors import RunStoppedError

READS_AT_A_TIME = 8


async def finish_parts(
    definition: Definition,
    ports: Ports,
    settings: RunSettings,
    reporter: Reporter,
    documents: DocumentsOf,
    leases_after: Callable[[int], Leases],
) -> RunOutcome:
    """
    Prove and trim a definition whose parts are all done, once.

    Args:
        leases_after: Returns the leases for a run after so many parts. The one that they held
            together counts as free in these: a part that is done writes nothing more.

    Raises:
        ClusterError: The definition, or what is kept of a part, cannot be read.
    """
    planned = plan(definition, read_policy(definition))
    if not isinstance(planned, Stop) and not why_not_in_parts(planned):
        try:
            known = (await load_known(ports.record, definition)).checkpoint
            if known is None or not is_proved(planned, known.whole):
                # Without the lease: parts that are at work are not disturbed.
                count = len(await _check(planned, ports, documents))
                ports = replace(ports, leases=leases_after(count))
        except (RunStoppedError, RecordUnreadableError, OtherOperatorError) as error:
            reported = conditions.not_current(*why_stopped(definition, error))
            return await end(definition, reporter, reported, retries=True)
    return await run(definition, ports, settings, reporter, partial(_work, documents=documents))


async def _work(context: RunContext[Plan], *, documents: DocumentsOf) -> RunOutcome:
    planned, ports = context.planned, context.ports
    why_not = why_not_in_parts(planned)
    if why_not:
        raise RunStoppedError(Reason.PARTS_UNFINISHED, why_not)
    known = (await load_known(ports.record, planned.definition)).checkpoint
    if known is None or not is_proved(planned, known.whole):
        states = await _check(planned, ports, documents)
        ledger = await open_ledger(
            ports.record, planned.definition, key=planned.key, is_restricted=False
        )
        if ledger.progress.phase != VERIFY:
            begun = replace(ledger.progress, phase=VERIFY, token="", seen=0)
            await ledger.save(replace(begun, failed=(), failed_total=0))
        accepted = frozenset(item for state in states for item in state.accepted.items)
        if accepted:
            # What was lost by consent is still named by managedFields: the same digest holds.
            await ledger.show(ledger.loss(accepted))
    return await work_on_all(context)


async def _check(planned: Plan, ports: Ports, documents: DocumentsOf) -> Sequence[PartState]:
    """
    See that each part is done, for this very definition, and return what is kept of them.

    Raises:
        RunStoppedError: One is not; the message names all of them.
        RecordUnreadableError: What is kept of one cannot be trusted.
        ClusterError: It cannot be read.
    """
    clock, name = ports.clock, planned.definition.name
    first = await read_state(documents(0), clock, planned)
    if first is None:
        raise RunStoppedError(
            Reason.PARTS_UNFINISHED,
            "part 0 has not run, so that it is not known how many parts there are:"
            f" espalier migrate {name} --part 0/N",
        )
    count = first.part.count
    found: list[PartState | None] = [first, *(None for _ in range(1, count))]

    async def read(number: int) -> None:
        found[number] = await read_state(documents(number), clock, planned)

    await work_through(range(1, count), read, workers=READS_AT_A_TIME)
    missing = tuple(unfinished_parts(found, planned))
    if missing:
        raise RunStoppedError(
            Reason.PARTS_UNFINISHED,
            f"{enumerated(missing, separator='; ')}. Run each of them:"
            f" espalier migrate {name} --part NUMBER/{count}",
        )
    return tuple(state for state in found if state is not None)
