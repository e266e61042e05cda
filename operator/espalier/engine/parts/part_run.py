"""
The work on one part: rewrite its objects, and note that it is done. It proves and trims nothing.
"""

from functools import partial

from espalier.crd import Condition, Definition
from espalier.engine.coordination.ledger import Ledger, load_known, remember
from espalier.engine.coordination.run_context import RunContext
from espalier.engine.parts.documents import DocumentsOf, PartDocument, open_part
from espalier.engine.policy.parts import why_not_in_parts
from espalier.engine.policy.plan import Plan
from espalier.engine.ports import Part
from espalier.engine.ports.meter import Phase
from espalier.engine.runs.gate_opening import open_gate
from espalier.engine.runs.migration import Migration
from espalier.engine.runs.outcome import RunOutcome, end
from espalier.engine.runs.pass_messages import failure_message, undecodable_message
from espalier.engine.runs.run import Work, is_proved
from espalier.engine.status import conditions
from espalier.engine.status.conditions import Reason
from espalier.engine.status.tally import total
from espalier.errors import DefinitionChangedError, RunStoppedError
from espalier.plurals import counted


def work_on_part(part: Part, documents: DocumentsOf) -> Work:
    """
    Return the work on one part, for ``run``.
    """
    return partial(_work, part=part, documents=documents)


async def _work(context: RunContext[Plan], *, part: Part, documents: DocumentsOf) -> RunOutcome:
    planned, ports, reporter = context.planned, context.ports, context.reporter
    definition = planned.definition
    why_not = why_not_in_parts(planned)
    if why_not:
        raise RunStoppedError(Reason.PARTS_UNFINISHED, why_not)
    ports.meter.enter(definition.name, Phase.PREFLIGHT)
    # Before the first write under this schema, as any run does.
    await remember(ports.record, definition, creates=True)
    known = (await load_known(ports.record, definition)).checkpoint
    if known is None:
        raise DefinitionChangedError(definition.name, "its record was deleted just now")
    if is_proved(planned, known.whole):
        reported = conditions.current(definition, objects=known.whole.proved_objects)
        return await end(definition, reporter, reported, is_proved=True)
    document = PartDocument(documents(part.number), part)
    ledger, state = await open_part(ports.record, document, planned, known, part)
    objects = state.objects
    if not state.is_done:
        await open_gate(context, ledger)
        try:
            objects = await _rewrite(context, ledger, part)
        except RunStoppedError as error:
            if error.reason == Reason.ADMISSION_MUTATES:
                # A schema that changed meanwhile changes objects too.
                await context.guard.check()
            reported = conditions.not_current(Reason(error.reason), error.detail)
            totals = total(ledger.passes)
            return await end(definition, reporter, reported, retries=True, totals=totals)
        document.finish(objects)
        await ledger.save(ledger.progress)
    reported = _done(definition, part, objects)
    return await end(definition, reporter, reported, totals=total(ledger.passes))


async def _rewrite(context: RunContext[Plan], ledger: Ledger, part: Part) -> int:
    """
    Rewrite the objects of a part, and return how many there are.

    Raises:
        RunStoppedError: Not all of them could be rewritten; the next run begins with the first one.
    """
    before, tally = await Migration(context, ledger).rewrite_part(part.hashes)
    if tally.undecodable:
        raise RunStoppedError(Reason.UNDECODABLE, undecodable_message(tally))
    if tally.failed:
        raise RunStoppedError(Reason.FAILED, failure_message(tally))
    if ledger.progress.failed_total:
        failed = counted(ledger.progress.failed_total, "object")
        raise RunStoppedError(
            Reason.FAILED,
            f"{failed} failed before this run went on from its checkpoint; run the part again",
        )
    definition = context.planned.definition
    if (await context.guard.check()).generation != definition.generation:
        raise DefinitionChangedError(definition.name, "its generation changed")
    return before + tally.seen


def _done(definition: Definition, part: Part, objects: int) -> tuple[Condition, ...]:
    message = (
        f"part {part} is done: {counted(objects, 'object')} rewritten, or found current, at the"
        f" storage version {definition.storage.name}, for generation {definition.generation}."
        f" storedVersions stays as it is: {', '.join(definition.stored_versions)}. Once all parts"
        f" are done: espalier migrate {definition.name} --finish"
    )
    return conditions.not_current(Reason.PARTIAL, message)
