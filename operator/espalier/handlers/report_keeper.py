"""
Keeps the report in a ConfigMap of the operator's namespace.

Each bucket of definitions has a key there, which its holder alone replaces. A bucket that was only
just taken is left alone for a while, since its definitions are not read yet.
"""

import hashlib
import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from espalier.engine.coordination.buckets import bucket_of
from espalier.engine.ports.clock import Clock
from espalier.engine.ports.state import Bucket
from espalier.errors import ClusterError, ConflictError, LeaseLostError
from espalier.observe.bounded_report import (
    MAX_KEPT_BYTES,
    RENEW_SECONDS,
    bounded_report,
    key_of,
)
from espalier.observe.state import DefinitionState, Snapshot

logger = logging.getLogger(__name__)

INTERVAL_SECONDS = 60.0
"""The least time between two writes of one replica."""

LOOK_SECONDS = 10.0
"""How often it is looked whether something changed."""


class ReportStore(Protocol):
    """
    Where the report is kept.
    """

    async def write(
        self,
        parts: Mapping[str, str],
        *,
        kept: Collection[str],
        may_begin: Callable[[], bool],
    ) -> None:
        """
        Replace parts, and keep the others of the given keys.

        Raises:
            ConflictError: Another process has written meanwhile.
            ClusterError: It could not be written.
        """


class BucketHolder(Protocol):
    """
    What decides for which definitions this process may write.
    """

    def list_held(self) -> tuple[Bucket, ...]:
        """
        List the buckets whose leases are held.
        """

    async def confirm_bucket(self, bucket: Bucket) -> None:
        """
        Wait until a write may begin.

        Raises:
            LeaseLostError: None may.
            ClusterError: Whether one may cannot be found out.
        """

    def may_begin_in(self, bucket: Bucket) -> bool:
        """
        Report whether a write may begin.
        """


@dataclass(frozen=True, slots=True)
class _Written:
    digest: bytes
    at_seconds: float


class ReportKeeper:
    """
    Write the report when it has changed, once a minute at the most.

    Args:
        snapshot: Makes the record.
        count: The number of buckets.
        with_messages: Whether the report has the messages of conditions, which name objects.
    """

    def __init__(
        self,
        snapshot: Callable[[], Snapshot],
        buckets: BucketHolder,
        store: ReportStore,
        clock: Clock,
        *,
        count: int,
        with_messages: bool,
    ) -> None:
        self._snapshot = snapshot
        self._buckets = buckets
        self._store = store
        self._clock = clock
        self._count = count
        self._with_messages = with_messages
        self._keys = frozenset(key_of(Bucket(number, count)) for number in range(count))
        self._seen: frozenset[Bucket] = frozenset()
        self._written: dict[Bucket, _Written] = {}
        self._tried_seconds = float("-inf")
        self._failure = ""

    async def run(self, is_ready: Callable[[], bool]) -> None:
        """
        Keep it until this is cancelled.

        Args:
            is_ready: Reports whether all definitions have been listed once.
        """
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            if is_ready():
                await self._look()

    async def _look(self) -> None:
        held = frozenset(self._buckets.list_held())
        due, self._seen = held & self._seen, held
        self._written = {one: known for one, known in self._written.items() if one in held}
        if due and self._clock.monotonic_seconds() - self._tried_seconds >= INTERVAL_SECONDS:
            changed, texts = self._changed(due)
            if changed:
                await self._write(changed, texts)

    def _changed(self, due: Collection[Bucket]) -> tuple[dict[Bucket, _Written], dict[str, str]]:
        now_seconds = self._clock.monotonic_seconds()
        snapshot = self._snapshot()
        own: dict[Bucket, list[DefinitionState]] = defaultdict(list)
        for one in snapshot.definitions:
            own[bucket_of(one.name, self._count)].append(one)
        changed: dict[Bucket, _Written] = {}
        texts: dict[str, str] = {}
        for bucket in due:
            report = bounded_report(
                replace(snapshot, definitions=tuple(own[bucket])),
                max_bytes=MAX_KEPT_BYTES // self._count,
                with_messages=self._with_messages,
            )
            digest = hashlib.sha256(report.content).digest()
            known = self._written.get(bucket)
            is_recent = known is not None and now_seconds - known.at_seconds < RENEW_SECONDS
            if known is None or known.digest != digest or not is_recent:
                changed[bucket] = _Written(digest, now_seconds)
                texts[key_of(bucket)] = report.text
        return changed, texts

    async def _write(self, changed: Mapping[Bucket, _Written], texts: Mapping[str, str]) -> None:
        try:
            for bucket in changed:
                await self._buckets.confirm_bucket(bucket)
            await self._store.write(
                texts,
                kept=self._keys,
                may_begin=lambda: all(self._buckets.may_begin_in(one) for one in changed),
            )
        except (LeaseLostError, ConflictError):
            # It is another replica's, or that one was quicker: the next look decides.
            return
        except ClusterError as error:
            self._tried_seconds = self._clock.monotonic_seconds()
            if str(error) != self._failure:
                logger.warning("Could not write the report.", extra={"error": str(error)})
            self._failure = str(error)
            return
        self._failure = ""
        self._tried_seconds = self._clock.monotonic_seconds()
        self._written |= changed
