"""
One run on one definition: prove that nothing is lost, rewrite, settle, verify, trim.

A verify pass begins only when this very run has seen the definition unchanged for the settle time,
and only a pass that rewrites nothing counts. It does not write again what was written after that
time, but for a sample.
"""

from dataclasses import replace
from typing import NamedTuple

from espalier.crd import Definition
from espalier.engine.conversion.stored_version import StoredVersionWitness
from espalier.engine.coordination.checkpoint import REWRITE, VERIFY
from espalier.engine.coordination.ledger import Ledger
from espalier.engine.coordination.run_context import RunContext
from espalier.engine.policy.loss_message import would_lose_message
from espalier.engine.policy.plan import Plan
from espalier.engine.policy.restrictions import restrictions_of
from espalier.engine.ports import HashRange
from espalier.engine.ports.meter import Phase
from espalier.engine.rewriting.settled_writes import SettledWrites
from espalier.engine.runs.gate_opening import open_gate
from espalier.engine.runs.only_failed import failed_of, unnamed_message, with_failures
from espalier.engine.runs.pass_messages import (
    expiry_message,
    failure_message,
    not_normal_message,
    proof_notes,
    undecodable_message,
    unrest_message,
)
from espalier.engine.runs.pass_progress import ProgressKeeper
from espalier.engine.runs.preparation import AnyPasses, Prepared, prepare
from espalier.engine.runs.settling import SettleTimer
from espalier.engine.runs.trim import trim
from espalier.engine.status.conditions import Reason
from espalier.engine.status.stop_reasons import AGAIN, behind_message
from espalier.engine.status.tally import Tally
from espalier.errors import RunStoppedError

MAX_VERIFY_PASSES = 5


class Migrated(NamedTuple):
    """
    What a run has come to.

    Attributes:
        definition: With its stored versions trimmed, if it is a proof.
        tally: Of the last pass.
        is_proved: A restricted run neither proves nor trims.
        note: Sentences for people.
        is_normal: Whether all objects are in normal form; if not, the note is the whole message.
    """

    definition: Definition
    tally: Tally
    is_proved: bool
    note: str
    is_normal: bool = True


class Migration:
    """
    A run under way. The caller holds the lease and has the definition watched.
    """

    def __init__(self, context: RunContext[Plan], ledger: Ledger) -> None:
        self._context = context
        self._planned = context.planned
        self._ledger = ledger
        self._settled = SettledWrites(
            context.ports.clock.monotonic_seconds,
            sample_least=context.settings.sample_least,
            on_doubt=context.gate.doubt_settled,
        )
        self._witness = StoredVersionWitness(context.planned.definition)
        self._timer = SettleTimer(context, self._settled)
        self._keeper = ProgressKeeper(context, ledger)

    async def migrate(self) -> Migrated:
        """
        Bring all objects into form, and prove it.

        Raises:
            RunStoppedError: It must not or cannot go on; the reason is the condition's.
            DefinitionChangedError: Start over with the new definition.
            ArchiveFullError: What would be removed cannot be archived.
            ClusterError: The API server cannot be reached, or refuses.
        """
        passes, notes = await self._prepare()
        note = ". ".join(notes)
        if self._context.settings.only_failed:
            tally = await self._try_failed(passes)
            return Migrated(self._planned.definition, tally, is_proved=False, note=note)
        if self._ledger.progress.phase != VERIFY:
            await self._rewrite_all(passes)
        tally, before = await self._verify(passes)
        if restrictions_of(self._planned, tally):
            return Migrated(before, tally, is_proved=False, note=note)
        ports = self._context.ports
        self._enter(Phase.TRIM)
        trimmed = await trim(before, ports.definitions, self._context.guard, ports.clock)
        if trimmed.stored_versions != before.stored_versions:
            ports.meter.trim(before.name)
        if not self._is_normal(tally):
            note = not_normal_message(trimmed, tally)
            return Migrated(trimmed, tally, is_proved=False, note=note, is_normal=False)
        await self._ledger.prove(
            replace(
                self._ledger.progress,
                phase="",
                token="",
                proved_generation=trimmed.generation,
                proved_objects=tally.seen,
            )
        )
        return Migrated(
            trimmed, tally, is_proved=True, note=". ".join([*notes, *proof_notes(tally)])
        )

    async def rewrite_part(self, shard: HashRange) -> tuple[int, Tally]:
        """
        Rewrite the objects of one part, and prove nothing.

        Returns:
            How many objects were seen up to the token at which the pass went on, and the counts
            since then.

        Raises:
            EspalierError: As ``migrate``.
        """
        passes, _ = await self._prepare(shard)
        tally = await self._rewrite_all(passes)
        return self._keeper.before.seen, tally

    async def _prepare(self, shard: HashRange | None = None) -> Prepared:
        prepared = await prepare(
            self._context, self._ledger, self._keeper, self._settled, self._witness, shard
        )
        await self._timer.wait_for_a_server()
        return prepared

    async def _try_failed(self, passes: AnyPasses) -> Tally:
        """
        Work on the objects that failed in the last pass alone.
        """
        progress = self._ledger.progress
        failed = failed_of(progress, self._planned.policy)
        wanted = frozenset(failed)
        left = replace(
            progress,
            failed=tuple(key for key in progress.failed if key not in wanted),
            failed_total=progress.failed_total - len(failed),
        )
        self._keeper.begin_pass("trying again what failed")
        tally = await passes.try_again(failed)
        await self._ledger.save(with_failures(progress, tally, before=left))
        await self._stop_at_loss(tally)
        if tally.failed:
            raise RunStoppedError(Reason.FAILED, failure_message(tally))
        unnamed = progress.failed_total - len(progress.failed)
        if unnamed:
            raise RunStoppedError(Reason.FAILED, unnamed_message(unnamed))
        return tally

    async def _rewrite_all(self, passes: AnyPasses) -> Tally:
        progress, keeper = self._ledger.progress, self._keeper
        if progress.phase != REWRITE:
            progress = replace(progress, phase=REWRITE, token="", seen=0)
            await self._ledger.save(progress)
        self._enter(Phase.REWRITE)
        keeper.before = progress if progress.token else replace(progress, failed=(), failed_total=0)
        keeper.begin_pass("rewriting")
        await keeper.report(progress.seen, total=None)
        # The verify pass meets what fails here again, and decides.
        tally = await passes.go_through(start_token=progress.token or None)
        if await self._is_consented(tally):
            keeper.before = replace(keeper.before, token="", seen=0, failed=(), failed_total=0)
            tally = await passes.go_through(start_token=None)
        done = with_failures(self._ledger.progress, tally, before=keeper.before)
        if not tally.left_alone.count:
            done = replace(done, phase=VERIFY)
        await self._ledger.save(replace(done, token="", seen=0))
        await self._stop_at_loss(tally)
        return tally

    async def _is_consented(self, tally: Tally) -> bool:
        """
        Accept the consent if it is to exactly the losses that this pass has found; report whether.

        So a digest that a survey or a dry run has shown holds, though neither keeps anything.
        """
        shown = self._ledger.loss(tally.would_lose)
        digest = self._planned.policy.accepted_loss
        if not digest or tally.is_loss_cut or shown.digest != digest:
            return False
        await self._ledger.show(shown)
        await open_gate(self._context, self._ledger)
        return True

    async def _stop_at_loss(self, tally: Tally) -> None:
        """
        End the run if objects were left alone, since something of them would or might be lost.
        """
        if not tally.left_alone.count:
            return
        shown = self._ledger.loss(tally.would_lose)
        # Before anybody can read its digest.
        await self._ledger.show(shown)
        message = would_lose_message(self._planned.definition, tally, shown)
        raise RunStoppedError(Reason.WOULD_LOSE_DATA, message)

    async def _verify(self, passes: AnyPasses) -> tuple[Tally, Definition]:
        """
        Pass over all objects until one pass, by consistent lists, has nothing to rewrite.

        The last pass counts as well if all that it rewrote was shown to have been stored at the
        storage version, so that only its normal form was wanting.

        Returns:
            The counts of that pass, and the definition as read before its first page.
        """
        tally, keeper, is_behind = Tally(), self._keeper, False
        keeper.before = replace(keeper.before, seen=0, failed=(), failed_total=0)
        for number in range(1, MAX_VERIFY_PASSES + 1):
            self._enter(Phase.SETTLE)
            before = await self._timer.wait()
            self._enter(Phase.VERIFY)
            keeper.begin_pass("verifying", number)
            await keeper.report(0, total=None)
            # What the first pass rewrites may still be old; after it, others have written it.
            self._witness.is_asked = number > 1
            sample = self._settled.sample()
            tally = await passes.go_through(start_token=None, sample=sample)
            if tally.failed or self._ledger.progress.failed_total:
                done = with_failures(self._ledger.progress, tally, before=keeper.before)
                await self._ledger.save(done)
            await self._stop_at_loss(tally)
            if tally.undecodable:
                raise RunStoppedError(Reason.UNDECODABLE, undecodable_message(tally))
            if tally.failed:
                raise RunStoppedError(Reason.FAILED, failure_message(tally))
            is_last = number == MAX_VERIFY_PASSES
            if not tally.is_consistent or self._is_unrest(tally, is_last=is_last):
                continue
            # Which writes went through such a server before it was seen is not known.
            is_behind = (await self._timer.look()).behind > 0
            if is_behind:
                continue
            if (await self._context.guard.check()).generation == before.generation:
                return tally, before
        raise _unproved(tally, self._planned.definition, is_behind=is_behind)

    def _enter(self, phase: Phase) -> None:
        self._context.ports.meter.enter(self._planned.definition.name, phase)

    def _is_unrest(self, tally: Tally, *, is_last: bool) -> bool:
        """
        Report whether what a pass has rewritten keeps it from being a proof.
        """
        if self._is_normal(tally):
            return False
        is_stored = tally.was_at_storage_version == tally.rewritten
        return not (is_last and is_stored) or bool(restrictions_of(self._planned, tally))

    def _is_normal(self, tally: Tally) -> bool:
        # What a rehearsal has tried was not kept, so that it is met again.
        return not tally.rewritten or self._context.settings.is_rehearsal


def _unproved(last: Tally, definition: Definition, *, is_behind: bool) -> RunStoppedError:
    """
    Describe why not one of the verify passes was a proof, by the last one.
    """
    if last.rewritten:
        return RunStoppedError(Reason.FAILED, unrest_message(last, passes=MAX_VERIFY_PASSES))
    if not last.is_consistent:
        return RunStoppedError(Reason.PENDING, expiry_message(passes=MAX_VERIFY_PASSES))
    if is_behind:
        return RunStoppedError(Reason.SERVERS_BEHIND, f"{behind_message(definition)}; {AGAIN}")
    return RunStoppedError(
        Reason.PENDING,
        f"the definition changed during each of {MAX_VERIFY_PASSES} verify passes;"
        " the run is tried again",
    )
