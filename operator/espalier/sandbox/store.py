"""
The sandbox's etcd: keys, bytes, one revision counter, and a limited history.

Every change makes a new revision. The store keeps a limited number of past changes. Within these,
keys can be read as of a revision, and watchers get the changes that they have missed.
"""

import asyncio
from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple


class Stored(NamedTuple):
    """
    One value, and the revision that wrote it.
    """

    key: str
    value: bytes
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreEvent:
    """
    One change: ``before`` is None for a new key, ``after`` is None for a deleted key.
    """

    key: str
    revision: int
    before: bytes | None
    after: bytes | None


class CompactedError(Exception):
    """
    The requested revision is no longer kept.
    """


class Store:
    """
    The keys and their values.

    Args:
        kept_changes: The number of past changes to keep.
    """

    def __init__(self, *, kept_changes: int) -> None:
        self._kept_changes = kept_changes
        self._versions: dict[str, list[tuple[int, bytes | None]]] = {}
        self._keys: list[str] = []
        self._changes: deque[StoreEvent] = deque()
        self._watchers: set[asyncio.Event] = set()
        self.revision = 1
        self.compacted = 1

    def get(self, key: str) -> Stored | None:
        """
        Return the value of a key; None if there is none.
        """
        return self._at(key, self.revision)

    def put(self, key: str, value: bytes) -> int:
        """
        Write a key.

        Returns:
            The new revision.
        """
        return self._change(key, value)

    def delete(self, key: str) -> int:
        """
        Delete a key, which must exist.

        Returns:
            The new revision.
        """
        return self._change(key, None)

    def scan(
        self, prefix: str, *, after: str = "", revision: int | None = None
    ) -> Iterator[Stored]:
        """
        Yield the values of the keys with a prefix, in the order of the keys.

        Args:
            after: Only keys after this one.
            revision: The revision to read; None for the newest.

        Raises:
            CompactedError: The revision is no longer kept.
        """
        at = self.revision if revision is None else revision
        if at < self.compacted:
            raise CompactedError
        start = bisect_right(self._keys, after) if after else bisect_left(self._keys, prefix)
        end = bisect_left(self._keys, prefix + "\U0010ffff")
        for key in self._keys[start:end]:
            found = self._at(key, at)
            if found is not None:
                yield found

    def changes_since(self, revision: int) -> list[StoreEvent]:
        """
        Return the changes after a revision, oldest first.

        Raises:
            CompactedError: Some of the changes are no longer kept.
        """
        if revision < self.compacted:
            raise CompactedError
        if not self._changes or revision >= self.revision:
            return []
        start = max(revision + 1 - self._changes[0].revision, 0)
        return [self._changes[index] for index in range(start, len(self._changes))]

    def compact(self) -> None:
        """
        Drop all past changes.
        """
        while self._changes:
            self._forget()

    def watch(self) -> asyncio.Event:
        """
        Return an event that every later change sets; pass it to ``unwatch`` at the end.
        """
        event = asyncio.Event()
        self._watchers.add(event)
        return event

    def unwatch(self, event: asyncio.Event) -> None:
        """
        Stop setting an event.
        """
        self._watchers.discard(event)

    def _at(self, key: str, revision: int) -> Stored | None:
        for written, value in reversed(self._versions.get(key, ())):
            if written <= revision:
                return None if value is None else Stored(key, value, written)
        return None

    def _change(self, key: str, value: bytes | None) -> int:
        before = self.get(key)
        self.revision += 1
        if key not in self._versions:
            self._versions[key] = []
            insort(self._keys, key)
        self._versions[key].append((self.revision, value))
        self._changes.append(
            StoreEvent(
                key=key,
                revision=self.revision,
                before=None if before is None else before.value,
                after=value,
            )
        )
        if len(self._changes) > self._kept_changes:
            self._forget()
        for watcher in self._watchers:
            watcher.set()
        return self.revision

    def _forget(self) -> None:
        change = self._changes.popleft()
        self.compacted = change.revision
        versions = self._versions.get(change.key, [])
        while len(versions) > 1 and versions[1][0] <= self.compacted:
            versions.pop(0)
        if len(versions) == 1 and versions[0][1] is None and versions[0][0] <= self.compacted:
            del self._versions[change.key]
            del self._keys[bisect_left(self._keys, change.key)]
