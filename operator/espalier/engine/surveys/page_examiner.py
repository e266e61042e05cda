"""
Examines the objects of pages: cheap ones in the event loop, the others in worker processes.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import NamedTuple

from espalier.crd import Definition
from espalier.engine.ports import key_of
from espalier.engine.ports.clock import Clock
from espalier.engine.ports.records import state_of
from espalier.engine.ports.workers import Workers, WorkItem
from espalier.engine.surveys.report import Looked, Survey
from espalier.engine.surveys.size import owned_bytes
from espalier.engine.surveys.surveyor import RULES_SECONDS, Surveyor
from espalier.paths import JSON

MAX_BATCH_BYTES = 2 * 1024 * 1024
"""How much of a page waits for the workers, or is there, at a time."""

QUICK_RULES_SECONDS = 0.05
"""How long rules may take in the event loop, where there are workers to try again."""


class _Waiting(NamedTuple):
    metadata: dict[str, JSON]
    item: WorkItem


def without_owned_fields(obj: dict[str, JSON]) -> dict[str, JSON]:
    """
    Leave out what entries of managedFields own, which no examination looks at; it may be large.
    """
    metadata = obj.get("metadata")
    entries = metadata.get("managedFields") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(entries, list):
        return obj
    kept = [
        {**entry, "fieldsV1": {}}
        if isinstance(entry, dict) and isinstance(entry.get("fieldsV1"), dict)
        else entry
        for entry in entries
    ]
    return {**obj, "metadata": {**metadata, "managedFields": kept}}


class PageExaminer:
    """
    Examines objects, and adds what it finds to a survey.

    Args:
        candidate: What the definition may become; None looks at it as it is.
        workers: None to examine all objects in the event loop.

    Raises:
        NoStorageVersionError: Not exactly one version is marked.
        SchemaParseError: A schema cannot be read.
    """

    def __init__(
        self,
        definition: Definition,
        *,
        candidate: Definition | None = None,
        clock: Clock,
        workers: Workers | None,
    ) -> None:
        limit = RULES_SECONDS if workers is None else QUICK_RULES_SECONDS
        self._workers = workers
        self._surveyor = Surveyor(definition, candidate=candidate, clock=clock, rules_seconds=limit)

    @property
    def objects(self) -> int:
        """
        How many objects were examined.
        """
        return self._surveyor.objects

    def survey(self) -> Survey:
        """
        Return what was found.
        """
        return self._surveyor.survey()

    async def looks(
        self, objects: Iterable[dict[str, JSON]]
    ) -> AsyncIterator[tuple[dict[str, JSON], Looked]]:
        """
        Yield what each object is found to be, with the object, or with its metadata alone.

        Objects that are cheap to examine come before others, of which a bounded number of bytes is
        in memory.
        """
        waiting: list[_Waiting] = []
        size_bytes = 0
        for obj in objects:
            left = self._examine_here(obj)
            # The leases have to be renewed meanwhile.
            await asyncio.sleep(0)
            if isinstance(left, Looked):
                yield obj, left
                continue
            if waiting and size_bytes + len(left.item.data) > MAX_BATCH_BYTES:
                for metadata, looked in await self._examine_there(waiting):
                    yield metadata, looked
                waiting, size_bytes = [], 0
            waiting.append(left)
            size_bytes += len(left.item.data)
        for metadata, looked in await self._examine_there(waiting):
            yield metadata, looked

    async def look(self, obj: dict[str, JSON]) -> Looked:
        """
        Examine one object.
        """
        left = self._examine_here(obj)
        if isinstance(left, Looked):
            return left
        ((_, looked),) = await self._examine_there([left])
        return looked

    def _examine_here(self, obj: dict[str, JSON]) -> Looked | _Waiting:
        surveyor, workers = self._surveyor, self._workers
        if workers is None:
            return surveyor.look_at(obj)
        data = workers.pack(without_owned_fields(obj))
        if surveyor.cost.is_cheap(data):
            found = surveyor.examine(obj)
            if not found.paths.get("unchecked"):
                return surveyor.add(key_of(obj), found)
        return _Waiting({"metadata": obj.get("metadata")}, WorkItem(state_of(obj), data))

    async def _examine_there(
        self, waiting: Sequence[_Waiting]
    ) -> list[tuple[dict[str, JSON], Looked]]:
        if self._workers is None or not waiting:
            return []
        found = await self._workers.compute(
            self._surveyor.examination, [one.item for one in waiting]
        )
        return [
            (
                one.metadata,
                self._surveyor.add(
                    key_of(one.metadata),
                    result,
                    more_bytes=owned_bytes(one.metadata.get("metadata")),
                ),
            )
            for one, result in zip(waiting, found, strict=True)
        ]
