"""
One run on one definition: prove that nothing is lost, rewrite, settle, verify, trim.

After a flip of the storage version a server may store the old version for a moment, and nothing
tells when all of them have agreed. So a verify pass begins only when this very run has seen the
definition unchanged for the settle time, and only a pass that rewrites nothing counts. The stored
versions are trimmed to the storage version only if the definition is the one that was read before
that pass's first page, in all that matters, and under an optimistic lock.
"""

import logging
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from espalier.crd import Definition
from espalier.engine.conversion.webhook import compare_versions, converts_by_webhook
from espalier.engine.coordination.checkpoint import REWRITE, VERIFY, Progress
from espalier.engine.coordination.ledger import Ledger
from espalier.engine.coordination.run_context import RunContext, is_legacy
from espalier.engine.flowcontrol.backoff import call_pause_seconds
from espalier.engine.flowcontrol.calls import retry_while_unavailable
from espalier.engine.legacy.prune_pass import Removing
from espalier.engine.policy.loss import History, Record, record_of_proof
from espalier.engine.policy.plan import Plan, ServerPruned
from espalier.engine.policy.restrictions import restrictions_of
from espalier.engine.ports import StoredMetadata
from espalier.engine.ports.progress import PassProgress
from espalier.engine.rewriting.passes import Passes
from espalier.engine.rewriting.workload import Rewriting
from espalier.engine.runs.loss_proof import examine_all, prove_harmless
from espalier.engine.runs.only_failed import failed_of, unnamed_words, with_failures
from espalier.engine.runs.permissions import check_rights
from espalier.engine.settings import pacer_of
from espalier.engine.status import conditions
from espalier.engine.status.conditions import Reason
from espalier.engine.status.tally import Tally, describe_failures
from espalier.engine.status.text import enumerated
from espalier.errors import (
    ConflictError,
    DefinitionChangedError,
    ForbiddenError,
    RunStoppedError,
    TransientError,
)
from espalier.paths import JSON
from espalier.plurals import counted

logger = logging.getLogger(__name__)

MAX_VERIFY_PASSES = 5
MAX_TRIM_ATTEMPTS = 10


_Passes: TypeAlias = Passes[StoredMetadata] | Passes[dict[str, JSON]]


class Migrated(NamedTuple):
    """
    What a run has come to.

    Attributes:
        definition: With its stored versions trimmed, if it is a proof.
        tally: Of the last pass.
        is_proved: A restricted run neither proves nor trims.
        note: Sentences for people.
    """

    definition: Definition
    tally: Tally
    is_proved: bool
    note: str


class Migration:
    """
    A run under way. Whoever starts it holds the lease and has the definition watched.
    """

    def __init__(self, context: RunContext[Plan], ledger: Ledger) -> None:
        planned, ports, settings = context.planned, context.ports, context.settings
        self._context = context
        self._planned = planned
        self._ports = ports
        self._settings = settings
        self._ledger = ledger
        self._reporter = context.reporter
        self._guard = context.guard
        self._pacer = pacer_of(settings, ports.clock)
        self._pass = PassProgress(phase="")
        self._pass_begun_seconds = 0.0
        self._notes: list[str] = []
        self._before = Progress(key=planned.key, generation=planned.definition.generation)
        self._settling_generation = 0
        self._settles_at_seconds = 0.0

    async def migrate(self) -> Migrated:
        """
        Bring all objects into form, and prove it.

        Raises:
            RunStoppedError: It must not or cannot go on; the reason is the condition's.
            DefinitionChangedError: Start over with the new definition.
            ArchiveFullError: What would be removed cannot be archived.
            ClusterError: The API server cannot be reached, or refuses.
        """
        self._settle_from_now(self._planned.definition)
        await self._see_no_other_migration()
        passes, history = await self._prepare()
        if self._settings.only_failed:
            return await self._try_failed(passes)
        if self._ledger.progress.phase != VERIFY:
            await self._rewrite_all(passes)
        tally, before = await self._verify(passes)
        if restrictions_of(self._planned, tally):
            return Migrated(before, tally, is_proved=False, note=self._note())
        trimmed = await self._trim(before)
        record = self._record_of(history)
        await self._ledger.save(
            replace(
                self._ledger.progress,
                phase="",
                token="",
                proved_generation=trimmed.generation,
                proved_objects=tally.seen,
                record=record,
            )
        )
        return Migrated(trimmed, tally, is_proved=True, note=self._note())

    async def before_page(self) -> None:
        """
        See that the definition is the one that the run was planned for.
        """
        await self._guard.check()

    def begin(self, tally: Tally) -> None:
        """
        Keep what a pass counts, whatever ends it.
        """
        self._ledger.passes.append(tally)

    async def after_page(self, tally: Tally, *, token: str | None, remaining: int | None) -> None:
        """
        Save and tell how far the pass came; stop if rights went missing meanwhile.
        """
        seen = self._before.seen + tally.seen
        progress = self._ledger.progress
        if progress.phase == REWRITE:
            # Of several lists one token does not tell which one it is of.
            goes_on = token is not None and not self._planned.policy.namespaces
            if goes_on:
                progress = replace(progress, token=token or "", seen=seen)
            await self._ledger.note(with_failures(progress, tally, before=self._before))
        total = seen + remaining if remaining is not None else (None if token else seen)
        logger.info(
            "Worked through a page of stored objects.",
            extra={
                "crd": self._planned.definition.name,
                "phase": progress.phase,
                "objects": seen,
                "rewritten": tally.rewritten,
                "failed": tally.failed,
            },
        )
        await self._tell(seen, total=total, worked_on=tally.seen)
        if tally.forbidden:
            await check_rights(self._context)

    async def _see_no_other_migration(self) -> None:
        definition, definitions = self._planned.definition, self._ports.definitions
        try:
            others = await retry_while_unavailable(
                lambda: definitions.other_migrations(definition), self._ports.clock
            )
        except ForbiddenError:
            self._notes.append(
                "Whether the server itself migrates these objects could not be looked for:"
                " the operator may not list storageversionmigrations"
            )
            return
        if others:
            raise RunStoppedError(
                Reason.OTHER_MIGRATION,
                f"the server itself is about to migrate these objects: StorageVersionMigration"
                f" {enumerated(others)}; this run waits for its end",
            )

    async def _prepare(self) -> tuple[_Passes, History]:
        """
        Prove by reading that nothing is lost.
        """
        progress, planned, context = self._ledger.progress, self._planned, self._context
        # What was proved for this very key needs no rewrite pass, only a new proof.
        phase = VERIFY if progress.proved_generation else progress.phase
        await self._ledger.save(replace(progress, phase=phase, proved_generation=0))
        await self._reporter.report(
            planned.definition,
            conditions.not_current(
                Reason.PENDING, "reading what is stored, to see that a rewrite loses nothing"
            ),
        )
        rewriting = Rewriting(context, self._pacer)
        if converts_by_webhook(planned.definition):
            self._notes.append(
                await compare_versions(
                    planned,
                    self._ports.objects,
                    self._ports.clock,
                    page_size=self._settings.page_size,
                )
            )
        if isinstance(planned, ServerPruned):
            history = await prove_harmless(planned, rewriting, self, progress.record)
            return Passes(rewriting, self), history
        if not is_legacy(context) or not planned.policy.does("prune"):
            return Passes(rewriting, self), History()
        removing = Removing(context, self._pacer)
        await examine_all(removing, self)
        return Passes(removing, self), History()

    def _note(self) -> str:
        return ". ".join(filter(None, self._notes))

    def _record_of(self, history: History) -> Record:
        return record_of_proof(self._planned.definition, history)

    async def _try_failed(self, passes: _Passes) -> Migrated:
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
        self._begin_pass("trying again what failed")
        tally = await passes.try_again(failed)
        await self._ledger.save(with_failures(progress, tally, before=left))
        if tally.failed:
            raise RunStoppedError(Reason.FAILED, _failure_words(tally))
        unnamed = progress.failed_total - len(progress.failed)
        if unnamed:
            raise RunStoppedError(Reason.FAILED, unnamed_words(unnamed))
        return Migrated(self._planned.definition, tally, is_proved=False, note=self._note())

    async def _rewrite_all(self, passes: _Passes) -> None:
        progress = self._ledger.progress
        if progress.phase != REWRITE:
            progress = replace(progress, phase=REWRITE, token="", seen=0)
            await self._ledger.save(progress)
        self._before = progress if progress.token else replace(progress, failed=(), failed_total=0)
        self._begin_pass("rewriting")
        await self._tell(progress.seen, total=None)
        # What fails here is met again by the verify pass, which has the last word.
        tally = await passes.go_through(start_token=progress.token or None)
        done = with_failures(self._ledger.progress, tally, before=self._before)
        await self._ledger.save(replace(done, phase=VERIFY, token="", seen=0))

    def _settle_from_now(self, definition: Definition) -> None:
        # What another process has waited does not count: clocks of machines differ, and nobody
        # knows what became of the definition meanwhile.
        self._settling_generation = definition.generation
        self._settles_at_seconds = (
            self._ports.clock.monotonic_seconds() + self._settings.settle_seconds
        )

    async def _settle(self) -> Definition:
        """
        Wait until the definition has not changed for the settle time.

        Returns:
            The definition as read then.
        """
        clock = self._ports.clock
        while True:
            definition = await self._guard.check()
            if definition.generation != self._settling_generation:
                # Its storage version may have moved and moved back, unseen.
                self._settle_from_now(definition)
            left_seconds = self._settles_at_seconds - clock.monotonic_seconds()
            if left_seconds <= 0:
                return definition
            words = (
                f"objects are rewritten; the verify pass begins in {left_seconds:.0f} s,"
                " when every API server is expected to store the storage version"
                f" {definition.storage.name}"
            )
            await self._reporter.report(definition, conditions.not_current(Reason.PENDING, words))
            await clock.sleep(left_seconds)

    async def _verify(self, passes: _Passes) -> tuple[Tally, Definition]:
        """
        Pass over all objects until one pass has nothing to rewrite.

        Returns:
            The counts of that pass, and the definition as read before its first page.
        """
        tally = Tally()
        self._before = replace(self._before, seen=0, failed=(), failed_total=0)
        for number in range(1, MAX_VERIFY_PASSES + 1):
            before = await self._settle()
            self._begin_pass("verifying", number)
            await self._tell(0, total=None)
            tally = await passes.go_through(start_token=None)
            if tally.failed or self._ledger.progress.failed_total:
                done = with_failures(self._ledger.progress, tally, before=self._before)
                await self._ledger.save(done)
            if tally.undecodable:
                raise RunStoppedError(Reason.UNDECODABLE, _undecodable_words(tally))
            if tally.failed:
                raise RunStoppedError(Reason.FAILED, _failure_words(tally))
            if tally.rewritten:
                continue
            if (await self._guard.check()).generation == before.generation:
                return tally, before
        if not tally.rewritten:
            raise RunStoppedError(
                Reason.PENDING,
                f"the definition changed during each of {MAX_VERIFY_PASSES} verify passes;"
                " the run is tried again",
            )
        raise RunStoppedError(Reason.FAILED, _unrest_words(tally))

    async def _trim(self, before: Definition) -> Definition:
        """
        Trim the stored versions, if everything is as it was before the verify pass.
        """
        only_storage = (before.storage.name,)
        for attempt in range(1, MAX_TRIM_ATTEMPTS + 1):
            fresh = await self._guard.check()
            if fresh.generation == before.generation and fresh.stored_versions == only_storage:
                return fresh
            if (fresh.generation, fresh.stored_versions) != (
                before.generation,
                before.stored_versions,
            ):
                raise DefinitionChangedError(
                    fresh.name, "generation or status.storedVersions changed in the verify pass"
                )
            try:
                await self._ports.definitions.set_stored_versions(fresh, only_storage)
            except (ConflictError, TransientError):
                # Perhaps only a condition was written meanwhile; perhaps it was trimmed after
                # all. What is there now tells.
                await self._ports.clock.sleep(call_pause_seconds(attempt))
        raise RunStoppedError(
            Reason.FAILED,
            f"all objects are rewritten, but storedVersions could not be trimmed in"
            f" {MAX_TRIM_ATTEMPTS} attempts; the run is tried again",
        )

    def _begin_pass(self, phase: str, number: int = 0) -> None:
        self._pass = PassProgress(phase=phase, number=number)
        self._pass_begun_seconds = self._ports.clock.monotonic_seconds()

    async def _tell(self, done: int, *, total: int | None, worked_on: int = 0) -> None:
        seconds = self._ports.clock.monotonic_seconds() - self._pass_begun_seconds
        self._pass = replace(
            self._pass,
            done=done,
            total=total,
            objects_per_second=worked_on / seconds if worked_on and seconds else None,
        )
        words = conditions.rewriting(
            self._planned.definition, str(self._pass), done=done, total=total
        )
        await self._reporter.report(self._planned.definition, words, self._pass)


def _failure_words(tally: Tally) -> str:
    told = f". {tally.admission}" if tally.admission else ""
    return (
        f"{counted(tally.failed, 'object')} of {tally.seen} could not be rewritten:"
        f" {describe_failures(tally.failures)}. storedVersions stays as it is;"
        f" the run is tried again{told}"
    )


def _unrest_words(tally: Tally) -> str:
    named = enumerated((str(key) for key in tally.rewritten_first), total=tally.rewritten)
    return (
        f"{MAX_VERIFY_PASSES} verify passes in a row found objects out of form, the last one"
        f" {counted(tally.rewritten, 'object')} ({named}): something keeps writing them so, such"
        " as an API server that still stores an older version, a GitOps tool, or clients of a"
        " version whose schema lacks a default of the storage version. storedVersions stays as it"
        " is; the run is tried again"
    )


def _undecodable_words(tally: Tally) -> str:
    others = counted(tally.seen, "other object")
    text = (
        f"the API server cannot read {counted(len(tally.undecodable), 'object')}:"
        f" {enumerated(tally.undecodable)}. Repair or delete what is stored, in etcd if the API"
        f" server does neither; storedVersions stays as it is. {others} looked at"
    )
    if tally.failed:
        return f"{text}, of which {tally.failed} failed: {describe_failures(tally.failures)}"
    return f"{text}, all in normal form" if not tally.rewritten else text
