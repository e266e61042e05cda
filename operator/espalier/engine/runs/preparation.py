"""
Checks and comparisons before the first write of a run.
"""

from dataclasses import replace
from typing import NamedTuple, TypeAlias

from espalier.engine.conversion.stored_version import StoredVersionWitness
from espalier.engine.conversion.webhook import compare_versions, converts_by_webhook
from espalier.engine.coordination.checkpoint import VERIFY
from espalier.engine.coordination.ledger import Ledger
from espalier.engine.coordination.run_context import RunContext, is_legacy
from espalier.engine.flowcontrol.calls import retry_while_unavailable
from espalier.engine.legacy.prune_pass import Removing
from espalier.engine.listing.shards import ShardedPages
from espalier.engine.policy.plan import Plan
from espalier.engine.ports import HashRange, StoredMetadata
from espalier.engine.rewriting.canary import Canary, needs_canary, stop_at_earlier_loss
from espalier.engine.rewriting.passes import Listener, Passes
from espalier.engine.rewriting.settled_writes import SettledWrites
from espalier.engine.rewriting.workload import Rewriting
from espalier.engine.settings import pacer_of
from espalier.engine.status import conditions
from espalier.engine.status.conditions import Reason
from espalier.engine.status.text import enumerated
from espalier.errors import ForbiddenError, RunStoppedError
from espalier.paths import JSON

AnyPasses: TypeAlias = Passes[StoredMetadata] | Passes[dict[str, JSON]]


class Prepared(NamedTuple):
    """
    What a run goes on with.

    Attributes:
        passes: By which objects are brought into form.
        notes: Sentences for people.
    """

    passes: AnyPasses
    notes: tuple[str, ...]


async def prepare(
    context: RunContext[Plan],
    ledger: Ledger,
    listener: Listener,
    settled: SettledWrites,
    witness: StoredVersionWitness,
    shard: HashRange | None = None,
) -> Prepared:
    """
    Check that the server does not migrate the objects itself, and compare versions for the report.

    Args:
        settled: Remembers the writes that are proofs.
        witness: Looks at objects before they are written, while it is asked.
        shard: The hashes of the uids of the only objects to work on; None for all objects.

    Raises:
        RunStoppedError: The server migrates the objects itself, or an earlier run has found that a
            rewrite loses something.
        ClusterError: The objects cannot be read.
    """
    notes = [await _note_on_other_migrations(context)]
    progress, planned, ports = ledger.progress, context.planned, context.ports
    # What was proved for this very key needs no rewrite pass, only a new proof.
    phase = VERIFY if progress.proved_generation else progress.phase
    await ledger.save(replace(progress, phase=phase, proved_generation=0))
    await context.reporter.report(
        planned.definition,
        conditions.not_current(Reason.PENDING, "the lease is held; the run begins"),
    )
    pacer = pacer_of(context.settings, ports)
    fetch = None if shard is None else ShardedPages(ports.objects, shard)
    canary = None
    if needs_canary(planned) and not context.settings.is_rehearsal:
        stop_at_earlier_loss(planned.definition, ledger, context.gate)
        if phase != VERIFY:
            canary = Canary(context, ledger, pacer, settled, witness, fetch)
    rewriting = Rewriting(context, pacer, settled, witness, canary, fetch)
    if converts_by_webhook(planned.definition):
        page_size = context.settings.page_size
        notes.append(await compare_versions(planned, ports, context.probe, page_size=page_size))
    passes: AnyPasses = Passes(rewriting, listener)
    if is_legacy(context) and planned.policy.does("prune"):
        passes = Passes(Removing(context, pacer), listener)
    return Prepared(passes, tuple(filter(None, notes)))


async def _note_on_other_migrations(context: RunContext[Plan]) -> str:
    """
    Stop where the server itself is about to migrate the objects; note where that is not known.
    """
    definition, definitions = context.planned.definition, context.ports.definitions
    try:
        others = await retry_while_unavailable(
            lambda: definitions.other_migrations(definition), context.ports.clock
        )
    except ForbiddenError:
        return (
            "Whether the server itself migrates these objects could not be looked for:"
            " the operator may not list storageversionmigrations"
        )
    if others:
        raise RunStoppedError(
            Reason.OTHER_MIGRATION,
            f"the server itself is about to migrate these objects: StorageVersionMigration"
            f" {enumerated(others)}; this run waits for its end",
        )
    return ""
