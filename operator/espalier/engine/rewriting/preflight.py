"""
Checks before a page's first write that writing does no harm.

The conversion webhook is called for each page. What admission does is sampled by dry runs: a few
for each page until one of them was answered, since one that was denied, or met an object that is
gone, shows nothing. Then at least one for each page, and one for each namespace, since a webhook
may select some namespaces, or some objects; and more where it is not known by what a rewrite has
changed an object.
"""

import math
from collections.abc import Collection, Iterator, Sequence

from espalier import crd
from espalier.engine.conversion.webhook import ask_webhook, converts_by_webhook
from espalier.engine.coordination.run_context import RunContext
from espalier.engine.flowcontrol.pacer import Pacer
from espalier.engine.policy.plan import Plan, ServerPruned
from espalier.engine.ports import ObjectKey
from espalier.engine.ports.records import size_of
from espalier.engine.rewriting.dry_run import DryRun, spread
from espalier.engine.rewriting.retries import Failed, FailureKind, WriteResult, retry_until_decided
from espalier.engine.status.conditions import Reason
from espalier.engine.status.tally import Tally, describe_failures
from espalier.engine.status.text import enumerated
from espalier.errors import RunStoppedError

SAMPLES = 3

WRITES_PER_SAMPLE = 50
"""For so many writes one more dry run may be made, beyond the first ones."""

MAX_TRIES = 9
"""How many objects of a page are tried as long as no dry run is answered."""

SILENCE = "too many objects in a row got no answer"
"""What speaks against further writes once a server cannot write at all."""


class Preflight:
    """
    Goes before the writes of one pass.
    """

    def __init__(self, context: RunContext[Plan], pacer: Pacer) -> None:
        planned, ports = context.planned, context.ports
        self._context = context
        self._definition = planned.definition
        self._structural = None
        if isinstance(planned, ServerPruned):
            self._structural = crd.structural_of(planned.definition.storage)
        self._objects = ports.objects
        self._probe = context.probe
        self._clock = ports.clock
        self._pacer = pacer
        self._is_answered = False
        self._sampled: set[str] = set()
        self._allowed = 0.0
        self._hindrance = ""
        self._refused_by: dict[str, None] = {}
        self._failed: dict[ObjectKey, Failed] = {}

    async def look(self, keys: Sequence[ObjectKey]) -> None:
        """
        Look before some objects are written.

        Args:
            keys: Theirs; without any nothing is looked at.

        Raises:
            RunStoppedError: Admission changes objects, or no dry run is answered for long.
            ConversionError: The conversion webhook does not answer as it must.
        """
        if not keys:
            return
        if converts_by_webhook(self._definition):
            shown = await ask_webhook(self._objects, self._probe, keys)
            if shown is not None:
                self._measured(size_of(shown))
        self._allowed += len(keys) / WRITES_PER_SAMPLE
        tried: Collection[ObjectKey] = ()
        if not self._is_answered:
            tried = await self._sample(keys)
        if self._is_answered:
            await self._sample_more(keys, tried)

    async def hindrance(self, keys: Sequence[ObjectKey]) -> str:
        """
        Check before optional writes whether they may be done; return the reason why not, or "".

        The reason holds for all further optional writes, too.

        Raises:
            ConversionError: The conversion webhook does not answer as it must.
        """
        if not self._hindrance:
            try:
                await self.look(keys)
            except RunStoppedError as error:
                self._hindrance = error.detail
        return self._hindrance

    def note(self, failed: Collection[ObjectKey] = ()) -> str:
        """
        Describe what the dry runs could not show; empty if they have shown all.

        Args:
            failed: Objects whose writes have failed too; their dry runs add nothing to that.
        """
        return ". ".join(self._notes(failed))

    async def _sample(self, keys: Sequence[ObjectKey]) -> Collection[ObjectKey]:
        """
        Try objects until a few were tried and one was answered; return them.
        """
        away = 0
        was_refused = False
        tried: set[ObjectKey] = set()
        for number, key in enumerate(spread(keys, most=MAX_TRIES)):
            if number >= SAMPLES and (self._is_answered or was_refused):
                break
            tried.add(key)
            fate, is_refused = await self._try(key)
            was_refused = was_refused or is_refused
            if isinstance(fate, Failed) and not is_refused:
                away += fate.why in (FailureKind.UNANSWERED, FailureKind.UNREACHED)
                # A single object may be to blame for such errors; not for those of several ones.
                if away == SAMPLES and not self._is_answered:
                    raise self._silence(fate)
        return tried

    async def _sample_more(self, keys: Sequence[ObjectKey], tried: Collection[ObjectKey]) -> None:
        """
        Try one object of each namespace that is new, as far as the number of writes allows.

        Args:
            tried: Those that were just tried; without any, one object is tried in any case.
        """
        least = 0 if tried else 1
        new = {key.namespace: key for key in keys if key.namespace not in self._sampled}
        most = math.ceil(self._allowed)
        chosen = spread(tuple(new.values()), most=most) or (keys[len(keys) // 2],)[:least]
        self._allowed = max(0.0, self._allowed - len(chosen))
        chosen = tuple(dict.fromkeys((*chosen, *self._of_suspects(keys))))
        for key in chosen:
            if key not in tried:
                await self._try(key)

    def _of_suspects(self, keys: Sequence[ObjectKey]) -> tuple[ObjectKey, ...]:
        """
        Choose more objects of namespaces where it is not known by what a write has changed one.
        """
        suspects = self._context.answers.suspects
        some = tuple(key for key in keys if key.namespace in suspects)
        return spread(some, most=min(SAMPLES, math.ceil(len(some) / WRITES_PER_SAMPLE)))

    async def _try(self, key: ObjectKey) -> tuple[WriteResult, bool]:
        """
        Make one dry run; report also whether a webhook takes none.
        """
        dry_run = DryRun(self._context, key, self._structural)
        fate = await retry_until_decided(dry_run, self._clock, self._pacer)
        self._measured(dry_run.size_bytes)
        if dry_run.is_answered:
            self._is_answered = True
            self._sampled.add(key.namespace)
        if dry_run.refused_by:
            self._refused_by[dry_run.refused_by] = None
        elif isinstance(fate, Failed):
            self._failed[key] = fate
        return fate, bool(dry_run.refused_by)

    def _silence(self, last: Failed) -> RunStoppedError:
        is_webhook = last.why is FailureKind.UNREACHED
        return RunStoppedError(
            Reason.WEBHOOK_UNAVAILABLE if is_webhook else Reason.FAILED,
            f"no dry run of a rewrite was answered: {describe_failures(self._tally().failures)};"
            " nothing is written until one is",
        )

    def _measured(self, size_bytes: int | None) -> None:
        if size_bytes is not None:
            self._pacer.sampled([size_bytes])

    def _notes(self, failed: Collection[ObjectKey]) -> Iterator[str]:
        if self._refused_by:
            names = enumerated(f'admission webhook "{name}"' for name in self._refused_by)
            verb = "does" if len(self._refused_by) == 1 else "do"
            yield (
                "Admission could not be sampled, so what it changes is not known:"
                f" {names} {verb} not support dry runs"
            )
        found = self._tally(failed)
        if found.failed:
            yield f"Dry runs failed: {describe_failures(found.failures)}"

    def _tally(self, left_out: Collection[ObjectKey] = ()) -> Tally:
        found = Tally()
        for key, fate in self._failed.items():
            if key not in left_out:
                found.fail(key, fate.cause, kind=fate.kind)
        return found
