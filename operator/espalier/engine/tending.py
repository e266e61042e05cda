"""
Keeps the objects of a legacy definition in form after its run: list, watch, prune what is new.

The server's events of our own writes show nothing to prune, so they end by themselves. An object
that somebody keeps putting out of form again, as a GitOps tool does, is left alone for growing
times, and named. Whatever cannot be brought into form is named in the condition.
"""

import asyncio
import logging
from dataclasses import dataclass
from typing import NamedTuple

from espalier.crd import Condition, Definition
from espalier.engine import conditions
from espalier.engine.calling import accompanied
from espalier.engine.conditions import Reason, counted, enumerated
from espalier.engine.guarding import Sentry
from espalier.engine.listing import ObjectListing
from espalier.engine.narrowing import Skipper
from espalier.engine.owners import is_owned
from espalier.engine.pacing import Pacer, work_through
from espalier.engine.paging import Listed, pages
from espalier.engine.planning import Legacy, plan
from espalier.engine.policies import read_policy
from espalier.engine.ports import ObjectKey, Reporter, key_of
from espalier.engine.removing import Removal, Remover
from espalier.engine.restricting import closing, restrictions_of
from espalier.engine.retrying import call_pause_seconds
from espalier.engine.rewriting import Failed, Fate, Gone, Rewritten, Unchanged, persist
from espalier.engine.settings import Ports, RunSettings
from espalier.engine.tallying import cause_of
from espalier.engine.validating import validate_all
from espalier.errors import (
    ArchiveFullError,
    ClusterError,
    DefinitionChangedError,
    ExpiredTokenError,
    NotFoundError,
    RunStoppedError,
    TransientError,
)
from espalier.paths import JSON

logger = logging.getLogger(__name__)

PATIENCE = 3
"""How often in a row an object is pruned at once when its fields come back."""

MAX_AT_ONCE = 20
"""So many objects are in memory; each may have megabytes."""

FIRST_PAUSE_SECONDS = 60.0
LONGEST_PAUSE_SECONDS = 3600.0
QUIET_SECONDS = 600.0
"""After so long without unknown fields, beyond its pause, an object counts as peaceful again."""


class Trouble(NamedTuple):
    """
    Why an object is not in form.
    """

    reason: Reason
    text: str


@dataclass(slots=True)
class Contention:
    """
    How often in a row an object had to be pruned, or could not be.
    """

    times: int = 0
    last_seconds: float = float("-inf")

    @property
    def pause_seconds(self) -> float:
        """
        How long to leave the object alone since the last time.
        """
        if self.times < PATIENCE:
            return 0.0
        doublings = min(self.times - PATIENCE, 10)
        return min(FIRST_PAUSE_SECONDS * 2.0**doublings, LONGEST_PAUSE_SECONDS)

    def is_over(self, now: float) -> bool:
        """
        Tell whether the object has been quiet for long enough.
        """
        return now - self.last_seconds > self.pause_seconds + QUIET_SECONDS


async def tend(
    definition: Definition, ports: Ports, settings: RunSettings, reporter: Reporter
) -> None:
    """
    Watch the objects, and prune each that has unknown fields within seconds.

    Returns only when the definition is gone, another one, or asks for something else.

    Raises:
        ClusterError: The objects cannot be listed or watched; call again later.
    """
    planned = plan(definition, read_policy(definition))
    if not isinstance(planned, Legacy) or not planned.policy.does("prune") or settings.is_read_only:
        return
    sentry = Sentry(ports.definitions, ports.clock, definition)
    tender = _Tender(planned, ports, settings, reporter, sentry)
    companions = [tender.serve(), tender.revalidate(), sentry.watch()]
    if planned.policy.window is not None:
        companions.append(closing(planned.policy.window, ports.clock))
    try:
        await accompanied(tender.follow(), *companions)
    except (DefinitionChangedError, NotFoundError) as error:
        logger.info("Tending ends.", extra={"crd": definition.name, "error": str(error)})
    except RunStoppedError as error:
        if error.reason != Reason.OUTSIDE_WINDOW:
            raise


class _Tender:
    def __init__(
        self,
        planned: Legacy,
        ports: Ports,
        settings: RunSettings,
        reporter: Reporter,
        sentry: Sentry,
    ) -> None:
        self._sentry = sentry
        self._planned = planned
        self._ports = ports
        self._settings = settings
        self._reporter = reporter
        self._clock = ports.clock
        self._pacer = Pacer(ports.clock, max_in_flight=settings.max_in_flight)
        self._remover = Remover(planned, ports, check=sentry.check)
        self._due: dict[ObjectKey, float] = {}
        self._news = asyncio.Event()
        self._contentions: dict[ObjectKey, Contention] = {}
        self._troubles: dict[ObjectKey, Trouble] = {}
        # The run before has said so already.
        self._in_form = _words_of(planned)
        self._told = self._in_form

    async def follow(self) -> None:
        """
        List and watch, again and again; take note of what has to be pruned.
        """
        failures = 0
        resource_version = ""
        while True:
            try:
                if not resource_version:
                    resource_version = await self._list()
                async for event in self._ports.objects.watch_objects(
                    self._planned.resource, resource_version=resource_version
                ):
                    failures = 0
                    resource_version = event.resource_version
                    self._see(event.type, event.object)
            except ExpiredTokenError:
                resource_version = ""
            except TransientError as error:
                failures += 1
                await self._clock.sleep(
                    call_pause_seconds(failures, asked_seconds=error.retry_after_seconds)
                )
                continue
            # A server that closes each stream at once must not be asked without a pause.
            failures += 1
            await self._clock.sleep(call_pause_seconds(failures))

    async def serve(self) -> None:
        """
        Prune what is due.
        """
        while True:
            now = self._clock.monotonic_seconds()
            due = [key for key, at in self._due.items() if at <= now][:MAX_AT_ONCE]
            if due:
                await self._prune(due)
                continue
            await self._forget_peaceful(now)
            await self._wait_for_news(now)

    async def revalidate(self) -> None:
        """
        Look now and then whether what is stored is valid.
        """
        while True:
            await self._clock.sleep(self._settings.resurvey_seconds)
            valid = await validate_all(
                self._planned, self._ports, self._settings, check=self._sentry.check
            )
            await self._reporter.report(self._planned.definition, (*self._told, valid))

    async def _list(self) -> str:
        listing = ObjectListing(
            objects=self._ports.objects,
            resource=self._planned.resource,
            page_size=self._settings.page_size,
        )
        # The first page's resource version: later pages may be of newer ones, and a watch from
        # those would miss what happened to the first ones meanwhile.
        resource_version, restarts = "", -1
        listed: Listed
        skipper = Skipper(self._ports.objects)
        async for page, listed in pages(listing, self._clock, skipper=skipper):
            if listed.restarts != restarts:
                resource_version, restarts = page.resource_version, listed.restarts
            for obj in page.objects:
                self._see("ADDED", obj)
        return resource_version

    def _see(self, event_type: str, obj: dict[str, JSON]) -> None:
        if event_type == "DELETED":
            key = key_of(obj)
            self._due.pop(key, None)
            self._contentions.pop(key, None)
            if self._troubles.pop(key, None) is not None:
                self._news.set()
        elif event_type in ("ADDED", "MODIFIED") and self._is_unfit(obj):
            self._put_off(key_of(obj))

    def _is_unfit(self, obj: dict[str, JSON]) -> bool:
        policy = self._planned.policy
        if policy.namespaces and key_of(obj).namespace not in policy.namespaces:
            return False
        if policy.skips_owned and is_owned(obj):
            return False
        return bool(self._remover.pruner.prune(obj).removed)

    def _put_off(self, key: ObjectKey) -> None:
        now = self._clock.monotonic_seconds()
        contention = self._contentions.get(key)
        at = now if contention is None else contention.last_seconds + contention.pause_seconds
        if at > now and key not in self._troubles:
            self._troubles[key] = Trouble(Reason.FAILED, "removed fields keep coming back")
        self._due[key] = max(at, now)
        self._news.set()

    async def _prune(self, keys: list[ObjectKey]) -> None:
        await self._sentry.check()
        for key in keys:
            del self._due[key]
        removals = [removal for key in keys if (removal := await self._read(key)) is not None]
        if not removals:
            await self._tell()
            return
        try:
            await self._remover.archive_page(removals)
        except (ArchiveFullError, ClusterError) as error:
            for removal in removals:
                self._fail(removal.key, _trouble_of(error))
            await self._tell()
            return

        async def remove(removal: Removal) -> None:
            try:
                fate = await persist(removal, self._clock, self._pacer)
            except (ArchiveFullError, RunStoppedError) as error:
                self._fail(removal.key, _trouble_of(error))
            else:
                self._settle(removal.key, fate)

        await work_through(removals, remove, workers=self._pacer.max_in_flight)
        await self._tell()

    async def _read(self, key: ObjectKey) -> Removal | None:
        """
        Read an object as it is now; None if it needs nothing, or cannot be helped.
        """
        try:
            obj = await self._ports.objects.get_object(self._planned.resource, key)
            removal = Removal(self._remover, obj)
            if removal.entry() is not None:
                return removal
            self._troubles.pop(key, None)
        except NotFoundError:
            self._troubles.pop(key, None)
        except RunStoppedError as error:
            # Left alone until the object or the definition changes.
            self._troubles[key] = _trouble_of(error)
        except ClusterError as error:
            self._fail(key, _trouble_of(error))
        return None

    def _settle(self, key: ObjectKey, fate: Fate) -> None:
        match fate:
            case Failed(cause=cause):
                self._fail(key, Trouble(Reason.FAILED, cause))
            case Rewritten(is_pruned=True):
                self._contend(key)
                if self._contentions[key].times < PATIENCE:
                    self._troubles.pop(key, None)
            case Rewritten() | Unchanged() | Gone():
                self._troubles.pop(key, None)

    def _fail(self, key: ObjectKey, trouble: Trouble) -> None:
        self._troubles[key] = trouble
        self._contend(key)
        pause_seconds = max(self._contentions[key].pause_seconds, FIRST_PAUSE_SECONDS)
        self._due[key] = self._clock.monotonic_seconds() + pause_seconds

    def _contend(self, key: ObjectKey) -> None:
        now = self._clock.monotonic_seconds()
        contention = self._contentions.setdefault(key, Contention())
        if contention.is_over(now):
            contention.times = 0
        contention.times += 1
        contention.last_seconds = now

    async def _forget_peaceful(self, now: float) -> None:
        over = [
            key
            for key, contention in self._contentions.items()
            if key not in self._due and contention.is_over(now)
        ]
        for key in over:
            del self._contentions[key]
            self._troubles.pop(key, None)
        await self._tell()

    async def _wait_for_news(self, now: float) -> None:
        self._news.clear()
        wake_at = min(self._due.values(), default=now + QUIET_SECONDS)
        sleeping = asyncio.ensure_future(self._clock.sleep(max(wake_at - now, 0.0)))
        hearing = asyncio.ensure_future(self._news.wait())
        try:
            await asyncio.wait({sleeping, hearing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()
            hearing.cancel()
            await asyncio.gather(sleeping, hearing, return_exceptions=True)

    async def _tell(self) -> None:
        definition = self._planned.definition
        if not self._troubles:
            words = self._in_form
        else:
            reason = next(
                (
                    trouble.reason
                    for trouble in self._troubles.values()
                    if trouble.reason is not Reason.FAILED
                ),
                Reason.FAILED,
            )
            named = enumerated(f"{key} ({t.text})" for key, t in self._troubles.items())
            words = conditions.not_current(
                reason,
                f"{counted(len(self._troubles), 'object')} cannot be kept in form: {named}",
            )
        if words != self._told:
            self._told = words
            await self._reporter.report(definition, words)


def _words_of(planned: Legacy) -> tuple[Condition, ...]:
    restrictions = restrictions_of(planned, None)
    if restrictions or planned.policy.skips_owned:
        why = "; ".join(restrictions) or "label espalier.dev/skip-owned=true"
        return conditions.not_current(
            Reason.PARTIAL, f"objects are pruned as they come. Restricted: {why}"
        )
    return conditions.current(planned.definition, objects=None)


def _trouble_of(error: ArchiveFullError | RunStoppedError | ClusterError) -> Trouble:
    match error:
        case ArchiveFullError(detail=detail):
            return Trouble(Reason.ARCHIVE_FULL, detail)
        case RunStoppedError(reason=reason, detail=detail):
            return Trouble(Reason(reason), detail)
        case _:
            return Trouble(Reason.FAILED, cause_of(error))
