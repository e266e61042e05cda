"""
Watches: missed changes first, then new changes and bookmarks, until a timeout.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator

from espalier.sandbox.calls import ObjectRequest, revision_of
from espalier.sandbox.catalogue import CodecCatalogue
from espalier.sandbox.codecs import Codec
from espalier.sandbox.faults import Faults
from espalier.sandbox.listing import collection_prefix, viewed
from espalier.sandbox.selecting import Matches, selector
from espalier.sandbox.store import CompactedError, Store, Stored, StoreEvent
from espalier.sandbox.wire import Object, RequestRefusal, server_error

_DEFAULT_SECONDS = 1800
_END_OF_INITIAL = {"k8s.io/initial-events-end": "true"}


class Watching:
    """
    Stream the changes of a store.

    Args:
        bookmark_seconds: The time between two bookmarks, for clients that ask for them.
    """

    def __init__(
        self, store: Store, catalogue: CodecCatalogue, faults: Faults, *, bookmark_seconds: float
    ) -> None:
        self._store = store
        self._catalogue = catalogue
        self._faults = faults
        self._bookmark_seconds = bookmark_seconds

    def check(self, call: ObjectRequest) -> None:
        """
        Refuse an invalid resource version before the stream begins.

        Raises:
            Refusal: 500.
        """
        text = call.options.get("resourceVersion", "")
        try:
            revision_of(text or "0")
        except RequestRefusal as error:
            raise server_error(
                f'resourceVersion: Invalid value: "{text}": {error.message}'
            ) from error

    async def events(self, codec: Codec, call: ObjectRequest) -> AsyncIterator[Object]:
        """
        Yield watch events until the watch times out, fails, or its definition changes.
        """
        stream = _Stream(codec, call)
        deadline = time.monotonic() + int(call.options.get("timeoutSeconds") or _DEFAULT_SECONDS)
        wanted = revision_of(call.options.get("resourceVersion") or "0")
        position = wanted or self._store.revision
        if not wanted or stream.wants_initial:
            for stored in list(self._store.scan(stream.prefix)):
                for event in stream.initial(stored):
                    yield event
            position = self._store.revision
            if stream.wants_initial:
                yield stream.bookmark(position, annotations=_END_OF_INITIAL)
        async for event in self._follow(stream, position, deadline):
            yield event

    async def _follow(
        self, stream: "_Stream", position: int, deadline: float
    ) -> AsyncIterator[Object]:
        epoch, definition = self._faults.watch_epoch, self._definition(stream.codec)
        changed = self._store.watch()
        self._faults.attach(changed)
        try:
            while True:
                await self._faults.flow()
                changed.clear()
                try:
                    changes = self._store.changes_since(position)
                except CompactedError:
                    yield _expired(position, self._store.compacted)
                    return
                for change in changes:
                    for event in stream.translate(change):
                        yield event
                position = max(position, self._store.revision)
                left = deadline - time.monotonic()
                moved = self._definition(stream.codec) != definition
                if moved or epoch != self._faults.watch_epoch:
                    return
                if left > 0 and await _is_set(changed, min(left, self._bookmark_seconds)):
                    continue
                if stream.wants_bookmarks:
                    yield stream.bookmark(position)
                if deadline <= time.monotonic():
                    return
        finally:
            self._store.unwatch(changed)
            self._faults.detach(changed)

    def _definition(self, codec: Codec) -> tuple[str, int] | None:
        # The API server ends the watches of custom objects when their definition's spec changes.
        if codec.kind.typed:
            return None
        obj = self._catalogue.definition(f"{codec.kind.plural}.{codec.kind.group}")
        if obj is None:
            return None
        return obj["metadata"].get("uid", ""), obj["metadata"].get("generation", 0)


async def _is_set(event: asyncio.Event, seconds: float) -> bool:
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return False
    return True


def _expired(wanted: int, oldest: int) -> Object:
    text = f"too old resource version: {wanted} ({oldest})"
    return {
        "type": "ERROR",
        "object": RequestRefusal(status=410, reason="Expired", message=text).body(),
    }


class _Stream:
    """
    Turn changes into the events that one client has requested.
    """

    def __init__(self, codec: Codec, call: ObjectRequest) -> None:
        self.codec = codec
        self.prefix = collection_prefix(codec.kind, call.target.namespace)
        self.wants_bookmarks = call.options.get("allowWatchBookmarks") in ("true", "1")
        self.wants_initial = call.options.get("sendInitialEvents") in ("true", "1")
        self._view = call.view
        self._matches: Matches | None = selector(call.options)

    def initial(self, stored: Stored) -> Iterator[Object]:
        """
        Yield the event for an existing object, if the client selects it.
        """
        try:
            obj = self.codec.read(stored)
        except RequestRefusal as error:
            yield {"type": "ERROR", "object": error.body()}
            return
        if self._wants(obj):
            yield self._event("ADDED", obj)

    def translate(self, change: StoreEvent) -> Iterator[Object]:
        """
        Yield the event for a change, if the client selects the object.
        """
        if not change.key.startswith(self.prefix):
            return
        try:
            before, after = self._read(change, change.before), self._read(change, change.after)
        except RequestRefusal as error:
            yield {"type": "ERROR", "object": error.body()}
            return
        if after is not None:
            yield self._event("ADDED" if before is None else "MODIFIED", after)
        elif before is not None:
            yield self._event("DELETED", before)

    def bookmark(self, revision: int, *, annotations: Object | None = None) -> Object:
        """
        Return a bookmark event.
        """
        metadata: Object = {"resourceVersion": str(revision)}
        if annotations:
            metadata["annotations"] = annotations
        kind = self.codec.kind
        obj = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata}
        return self._event("BOOKMARK", obj)

    def _read(self, change: StoreEvent, value: bytes | None) -> Object | None:
        if value is None:
            return None
        obj = self.codec.read(Stored(change.key, value, change.revision))
        return obj if self._wants(obj) else None

    def _wants(self, obj: Object) -> bool:
        return self._matches is None or self._matches(obj)

    def _event(self, kind: str, obj: Object) -> Object:
        return {"type": kind, "object": viewed(obj, self._view)}
