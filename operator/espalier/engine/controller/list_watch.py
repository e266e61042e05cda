"""
Follows the objects of a legacy definition: lists and watches them, and notes what has to be pruned.
"""

import logging
from collections.abc import AsyncIterator

from espalier.engine.controller.object_queue import ObjectQueue
from espalier.engine.coordination.run_context import RunContext
from espalier.engine.flowcontrol.backoff import call_pause_seconds
from espalier.engine.legacy.pruner import Pruner
from espalier.engine.listing.pages import Listed, Listing, pages
from espalier.engine.listing.undecodable import UndecodableSkipper
from espalier.engine.policy.field_managers import is_owned, managers_of
from espalier.engine.policy.plan import Legacy
from espalier.engine.ports import WatchEvent, key_of
from espalier.engine.status.causes import cause_of
from espalier.errors import ExpiredTokenError, RejectedError, TransientError, UndecodableError
from espalier.paths import JSON

logger = logging.getLogger(__name__)


class ListWatch:
    """
    Sees every object, and every change of one.
    """

    def __init__(
        self,
        context: RunContext[Legacy],
        pruner: Pruner,
        queue: ObjectQueue,
    ) -> None:
        self._planned = context.planned
        self._objects = context.ports.objects
        self._clock = context.ports.clock
        self._meter = context.ports.meter
        self._page_size = context.settings.page_size
        self._pruner = pruner
        self._queue = queue

    async def follow(self) -> None:
        """
        List and watch, again and again; ends only by an error.

        Raises:
            ClusterError: The objects cannot be listed or watched.
        """
        failures = 0
        resource_version = ""
        while True:
            asked_seconds = None
            try:
                if not resource_version:
                    resource_version = await self._list()
                async for event in self._events(resource_version):
                    failures = 0
                    resource_version = event.resource_version
                    self._see(event.type, event.object)
            except ExpiredTokenError:
                resource_version = ""
            except TransientError as error:
                asked_seconds = error.retry_after_seconds
            else:
                if self._queue.has_unreadable:
                    resource_version = ""
            self._meter.restart_watch(self._planned.definition.name)
            # A server that closes each stream at once must not be asked without a pause.
            failures += 1
            await self._clock.sleep(call_pause_seconds(failures, asked_seconds=asked_seconds))

    async def _events(self, resource_version: str) -> AsyncIterator[WatchEvent]:
        """
        Watch; an object that the server cannot read ends the watch as if it had expired.
        """
        try:
            async for event in self._objects.watch_objects(
                self._planned.resource, resource_version=resource_version
            ):
                yield event
        except (UndecodableError, RejectedError) as error:
            # Only a list can name that object, and skip it.
            crd = self._planned.definition.name
            logger.warning("A watch ended early.", extra={"crd": crd, "error": cause_of(error)})
            raise ExpiredTokenError(
                verb=error.verb, resource=error.resource, reason=error.reason
            ) from error

    async def _list(self) -> str:
        listing = Listing(
            fetch=self._objects.list_objects,
            resource=self._planned.resource,
            page_size=self._page_size,
        )
        # The first page's resource version: later pages may be of newer ones, and a watch from
        # those would miss what happened to the first ones meanwhile.
        resource_version, restarts = "", -1
        missing = set(self._queue.keys)
        listed: Listed
        skipper = UndecodableSkipper(self._objects, self._planned.definition)
        async for page, listed in pages(listing, self._clock, skipper=skipper):
            if listed.restarts != restarts:
                resource_version, restarts = page.resource_version, listed.restarts
            for obj in page.objects:
                missing.discard(key_of(obj))
                self._see("ADDED", obj)
        for key in missing:
            if skipper.names:
                # The list may have skipped it as unreadable; a read of this object alone decides.
                self._queue.add(key)
            else:
                self._queue.forget(key)
        self._queue.mark_unreadable(skipper.names)
        return resource_version

    def _see(self, event_type: str, obj: dict[str, JSON]) -> None:
        if event_type == "DELETED":
            self._queue.forget(key_of(obj))
        elif event_type in ("ADDED", "MODIFIED"):
            self._look_at(obj)

    def _look_at(self, obj: dict[str, JSON]) -> None:
        key, policy = key_of(obj), self._planned.policy
        if policy.namespaces and key.namespace not in policy.namespaces:
            return
        removed = self._pruner.prune(obj).removed
        if not removed or (policy.skips_owned and is_owned(obj)):
            self._queue.mark_clean(key)
            return
        managers = managers_of(obj, removed) if self._queue.is_put_off(key) else ()
        self._queue.add(key, managers)
