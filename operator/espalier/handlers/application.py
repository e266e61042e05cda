"""
The operator without Kopf: the queue, those who work on it, and the readings of everything.

Kopf's events are hints only. Each name that is put in the queue is read anew from the API server,
gets its structural condition, and goes to the supervisor. Work whose label went does not wait for
that: it ends with the event. Of several replicas, each does so for the definitions of the buckets
that it holds, and ignores the others.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Protocol

from espalier.crd import Definition
from espalier.engine.coordination.buckets import Buckets, bucket_of
from espalier.engine.flowcontrol.calls import wait_for_any
from espalier.engine.flowcontrol.sightings import Sightings
from espalier.engine.ports.clock import Clock
from espalier.engine.ports.definitions import Definitions
from espalier.engine.ports.state import Bucket
from espalier.errors import (
    ClusterError,
    DefinitionError,
    EspalierError,
    LeaseLostError,
    NotFoundError,
)
from espalier.handlers.settings import Settings
from espalier.handlers.status_writer import StatusReporter
from espalier.handlers.structural_condition import StructuralKeeper
from espalier.handlers.supervisor import Supervisor
from espalier.handlers.tasks import Guard
from espalier.handlers.workqueue import WorkQueue
from espalier.observe.recorder import Recorder

logger = logging.getLogger(__name__)

# Two, so that one definition whose work takes long to end does not hold up the others.
WORKERS = 2

# The first reading is what readiness waits for, so a failed one is tried again soon.
FAILED_RESYNC_SECONDS = 5.0

# The kubelet gives 30 s from the signal to the end.
LAST_WRITE_SECONDS = 5.0


Serve = Callable[[Callable[[], bool]], AbstractAsyncContextManager[None]]
"""Serves probes and whatever else is to be served; takes what reports whether it is ready."""

KeepReport = Callable[[Callable[[], bool]], Coroutine[None, None, None]]
"""Keeps the report in the cluster; takes the same."""


class DefinitionLister(Definitions, Protocol):
    """
    The definitions, whose names can also be listed.
    """

    async def definition_names(self) -> Sequence[str]:
        """
        List the names of all of them, also of those that cannot be read.

        Raises:
            ClusterError: They could not be listed.
        """


class Espalier:
    """
    What Kopf's handlers hand on to; see ``espalier.handlers.registry.Operator``.

    Attributes:
        is_ready: Whether all definitions have been listed once.
    """

    def __init__(  # noqa: PLR0913 - its collaborators, each named
        self,
        settings: Settings,
        *,
        definitions: DefinitionLister,
        sightings: Sightings,
        clock: Clock,
        guard: Guard,
        queue: WorkQueue,
        reporter: StatusReporter,
        keeper: StructuralKeeper | None,
        supervisor: Supervisor,
        recorder: Recorder,
        serve: Serve,
        buckets: Buckets,
        keep_report: KeepReport | None = None,
    ) -> None:
        self._settings = settings
        self._definitions = definitions
        self._sightings = sightings
        self._clock = clock
        self._guard = guard
        self._queue = queue
        self._reporter = reporter
        self._keeper = keeper
        self._supervisor = supervisor
        self._buckets = buckets
        self._resync_wanted = asyncio.Event()
        self.is_ready = False
        self._serve = serve
        self._keep_report = keep_report
        self._recorder = recorder
        self._open = AsyncExitStack()
        self._background: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """
        Serve probes, metrics and the page, read all definitions, and work on what is in the queue.
        """
        await self._open.enter_async_context(self._serve(lambda: self.is_ready))
        self._background = [
            self._guard.start(self._buckets.contend(self), name="buckets"),
            self._guard.start(self._resync(), name="resync"),
            *(self._guard.start(self._work(), name=f"worker {n}") for n in range(WORKERS)),
        ]
        if self._keep_report is not None:
            keeping = self._keep_report(lambda: self.is_ready)
            self._background.append(self._guard.start(keeping, name="report"))
        extra = {"read_only": self._settings.read_only, "pause": self._settings.pause}
        logger.info("Espalier works.", extra=extra)

    async def stop(self) -> None:
        """
        End all work, write the last conditions, and leave the buckets to other replicas.
        """
        await self._buckets.close()
        await self._supervisor.close()
        await self._reporter.close(patience_seconds=LAST_WRITE_SECONDS)
        await self._guard.close()
        await self._queue.close()
        await self._open.aclose()
        logger.info("Espalier stopped.")

    def see(self, name: str, labels: Mapping[str, str]) -> None:
        """
        Queue a definition; work that its labels no longer ask for ends at once.
        """
        if not self._buckets.owns(name):
            return
        self._supervisor.halt(name, labels)
        # At the start and with each resync all definitions wait before it.
        self._queue.nudge(name, is_urgent=name in self._supervisor.names)

    def pick_up(self) -> None:
        """
        Read all definitions anew: some of them were another replica's.
        """
        self._resync_wanted.set()

    async def put_down(self, bucket: Bucket, *, may_report: bool) -> None:
        """
        End the work on the definitions of a bucket.
        """
        await self._supervisor.put_down(
            lambda name: bucket_of(name, bucket.count) == bucket,
            may_write=may_report,
            patience_seconds=LAST_WRITE_SECONDS,
        )
        # What is known of all the others is forgotten.
        self._resync_wanted.set()

    async def _work(self) -> None:
        while True:
            name = await self._queue.take()
            try:
                await self._look_at(name)
            except LeaseLostError:
                # It is another replica's now.
                self._queue.done(name)
            except EspalierError as error:
                pause_seconds = self._queue.retry(name)
                logger.warning(
                    "Could not work on a definition; trying again.",
                    extra={"crd": name, "error": str(error), "pause_seconds": pause_seconds},
                )
            else:
                self._queue.done(name)

    async def _look_at(self, name: str) -> None:
        if not self._buckets.owns(name):
            if self._keeper is not None:
                self._keeper.forget(name)
            # What is shown of it is shown by another replica.
            self._recorder.forget(name)
            return
        try:
            definition = await self._definitions.get_definition(name)
        except NotFoundError as error:
            if not error.is_object:
                raise
            if self._keeper is not None:
                self._keeper.forget(name)
            self._sightings.forget(name)
            self._recorder.forget(name)
            await self._supervisor.reconcile(name, None)
            return
        except DefinitionError as error:
            # A retry reads the same; a repaired definition causes an event.
            logger.warning(
                "Cannot make sense of a definition.", extra={"crd": name, "error": str(error)}
            )
            return
        self._sightings.see(definition)
        self._recorder.see(definition)
        # First the work: taking the label off stops it at once, whatever the condition costs.
        await self._supervisor.reconcile(name, definition)
        await self._keep(definition)

    async def _keep(self, definition: Definition) -> None:
        if self._keeper is None:
            return
        again_seconds = await self._keeper.keep(definition)
        if again_seconds is not None:
            self._queue.nudge_later(definition.name, after_seconds=again_seconds)

    async def _resync(self) -> None:
        """
        Queue all definitions at intervals: Kopf misses deletions while its watch is interrupted.

        A replica that holds no bucket has listed them nevertheless, and is as ready as the others.
        """
        while True:
            self._resync_wanted.clear()
            try:
                names = await self._definitions.definition_names()
            except ClusterError as error:
                logger.warning("Could not list the definitions.", extra={"error": str(error)})
                await self._clock.sleep(FAILED_RESYNC_SECONDS)
                continue
            for name in {*names, *self._supervisor.names}:
                self._queue.nudge(name)
            self.is_ready = True
            self._recorder.resync()
            await wait_for_any(self._clock, self._settings.resync_seconds, self._resync_wanted)
