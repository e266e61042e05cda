"""
Brings back what pruning removed, from the archive.

An entry's fields are put back one by one, and only where nothing speaks against it: the object is
the same one, the place of the field is there and empty, the lists on the way to it are what they
were right after pruning, and neither the server nor Espalier would remove it again. Entries come
newest first, so that of several values of a field the last one wins.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from espalier import crd, schema
from espalier.crd import Definition
from espalier.engine.causes import cause_of
from espalier.engine.inverting import (
    MISSING,
    Addition,
    Missing,
    added,
    additions,
    expected_lists,
    find,
    tokens_of,
    without,
)
from espalier.engine.planning import resource_of
from espalier.engine.policies import Mode, read_policy
from espalier.engine.ports import ArchiveEntry, Clock, ObjectKey, Objects
from espalier.engine.pruning import Pruner
from espalier.engine.retrying import call_pause_seconds
from espalier.engine.rewriting import identity_of
from espalier.errors import ClusterError, ConflictError, NotFoundError, TransientError
from espalier.paths import JSON, Path, render_pointer
from espalier.schema import Profile

MAX_ATTEMPTS = 5

Pointer = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """
    What was not brought back, and why.

    Attributes:
        pointer: A JSON Pointer; empty for the whole entry.
    """

    key: ObjectKey
    pointer: str
    reason: str


@dataclass(slots=True)
class RestoreReport:
    """
    What became of the entries.

    Attributes:
        restored: The fields that were put back and read back, as JSON Pointers, by object.
        present: How many fields were there already with the archived value.
    """

    restored: dict[ObjectKey, list[str]] = field(default_factory=dict)
    refused: list[Refusal] = field(default_factory=list)
    present: int = 0


async def restore(
    definition: Definition,
    entries: AsyncIterator[ArchiveEntry],
    objects: Objects,
    clock: Clock,
    *,
    is_wanted: Callable[[ObjectKey], bool] = lambda _: True,
) -> RestoreReport:
    """
    Put back what the entries hold.

    Args:
        definition: As it is now; read it right before.
        entries: Newest first, as ``Archive.entries`` gives them.
        is_wanted: Chooses objects.

    Raises:
        ClusterError: The archive cannot be read.
    """
    restorer = _Restorer(definition, objects, clock)
    async for entry in entries:
        if is_wanted(entry.key):
            await restorer.restore(entry)
    return restorer.report


class _Restorer:
    def __init__(self, definition: Definition, objects: Objects, clock: Clock) -> None:
        self._definition = definition
        self._resource = resource_of(definition, definition.storage)
        self._objects = objects
        self._clock = clock
        self._removed_again = _removal_of(definition)
        # By uid. A newer entry's fields must not make an older one's lists look changed.
        self._restored: dict[str, set[Pointer]] = {}
        self.report = RestoreReport()

    async def restore(self, entry: ArchiveEntry) -> None:
        for attempt in range(1, MAX_ATTEMPTS + 1):
            try:
                await self._attempt(entry)
            except NotFoundError:
                self._refuse(entry, (), "the object is gone; it is never created again")
            except (ConflictError, TransientError) as error:
                if attempt == MAX_ATTEMPTS:
                    self._refuse(entry, (), cause_of(error))
                    return
                await self._clock.sleep(call_pause_seconds(attempt))
                continue
            except ClusterError as error:
                self._refuse(entry, (), cause_of(error))
            return

    async def _attempt(self, entry: ArchiveEntry) -> None:
        obj = await self._objects.get_object(self._resource, entry.key)
        if identity_of(obj).uid != entry.uid:
            self._refuse(entry, (), "another object has this name now")
            return
        restored = self._restored.setdefault(entry.uid, set())
        found = _Findings(obj, restored, entry)
        # Perhaps an earlier restore put them back.
        restored.update(found.present)
        wanted = found.wanted
        for pointer in self._removed_again(added(obj, wanted)):
            again = [a for a in wanted if _overlap(a.pointer, pointer)]
            for addition in again:
                wanted.remove(addition)
                found.refused.append((addition.pointer, "it would be removed again"))
        if wanted:
            await self._put(obj, wanted)
            await self._read_back(entry, wanted)
        self.report.present += len(found.present)
        for refused, reason in found.refused:
            self._refuse(entry, refused, reason)

    async def _put(self, obj: dict[str, JSON], wanted: list[Addition]) -> None:
        has_status = self._definition.storage.has_status
        in_status = [a for a in wanted if has_status and a.pointer[0] == "status"]
        elsewhere = [a for a in wanted if a not in in_status]
        if elsewhere:
            obj = await self._objects.replace(
                self._resource, added(obj, elsewhere), subresource=None
            )
        if in_status:
            await self._objects.replace(self._resource, added(obj, in_status), subresource="status")

    async def _read_back(self, entry: ArchiveEntry, wanted: list[Addition]) -> None:
        obj = await self._objects.get_object(self._resource, entry.key)
        for addition in wanted:
            if not _is_equal(find(obj, addition.pointer), addition.value):
                self._refuse(entry, addition.pointer, "it was written, but is not there")
                continue
            self._restored[entry.uid].add(addition.pointer)
            restored = self.report.restored.setdefault(entry.key, [])
            restored.append(render_pointer(addition.pointer))

    def _refuse(self, entry: ArchiveEntry, pointer: Pointer, reason: str) -> None:
        self.report.refused.append(Refusal(entry.key, render_pointer(pointer), reason))


class _Findings:
    """
    Which fields of an entry may be put back into an object, and why others may not.
    """

    def __init__(self, obj: dict[str, JSON], restored: set[Pointer], entry: ArchiveEntry) -> None:
        self.wanted: list[Addition] = []
        self.refused: list[tuple[Pointer, str]] = []
        self.present: list[Pointer] = []
        lists = expected_lists(entry.patch)
        before = without(obj, restored)
        for addition in additions(entry.patch):
            there = find(obj, addition.pointer)
            if _is_equal(there, addition.value):
                self.present.append(addition.pointer)
            elif not isinstance(there, Missing):
                self.refused.append((addition.pointer, "there is another value by now"))
            elif not isinstance(find(obj, addition.pointer[:-1]), dict):
                self.refused.append((addition.pointer, "what held it is gone"))
            elif any(
                not _is_equal(find(before, pointer), value)
                for pointer, value in lists.items()
                if addition.pointer[: len(pointer)] == pointer
            ):
                self.refused.append((addition.pointer, "a list on the way to it has changed"))
            else:
                self.wanted.append(addition)


def _removal_of(definition: Definition) -> Callable[[dict[str, JSON]], tuple[Pointer, ...]]:
    """
    Tell what would remove something from an object again: the server, Espalier, or nobody.
    """
    if not definition.preserve_unknown_fields:
        structural = crd.structural_of(definition.storage)
        return lambda obj: _pointers(
            schema.prune(obj, structural, profile=Profile.APISERVER).removed
        )
    if read_policy(definition).mode is Mode.ENFORCE:
        pruner = Pruner(definition)
        return lambda obj: _pointers(pruner.prune(obj).removed)
    return lambda _: ()


def _pointers(paths: tuple[Path, ...]) -> tuple[Pointer, ...]:
    return tuple(tokens_of(render_pointer(path)) for path in paths)


def _overlap(left: Pointer, right: Pointer) -> bool:
    length = min(len(left), len(right))
    return left[:length] == right[:length]


def _is_equal(found: "JSON | Missing", expected: "JSON | Missing") -> bool:
    if isinstance(found, Missing) or isinstance(expected, Missing):
        return found is MISSING and expected is MISSING
    return schema.equal_json(found, expected)
