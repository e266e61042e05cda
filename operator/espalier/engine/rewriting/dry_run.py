"""
Would admission change what a rewrite sends? One object at a time is tried as a dry run.
"""

import re
from collections.abc import Sequence

from espalier import schema
from espalier.engine.conversion.diffs import differences
from espalier.engine.coordination.run_context import RunContext
from espalier.engine.policy.plan import Plan
from espalier.engine.ports import ObjectKey
from espalier.engine.ports.records import identity_of, size_of
from espalier.engine.rewriting.retries import UNGUARDED, Failed, Unchanged, WriteResult
from espalier.engine.status.conditions import Reason
from espalier.engine.status.text import enumerated
from espalier.errors import ClusterError, ConversionError, RejectedError, RunStoppedError
from espalier.paths import JSON, render_path
from espalier.schema import Profile, Structural

_NO_DRY_RUNS = re.compile(r"admission webhook \"([^\"\s]{1,253})\" does not support dry run")

_SET_BY_EVERY_WRITE = frozenset({"resourceVersion", "managedFields", "generation"})


class DryRun:
    """
    The rewrite of one object as a dry run: an attempt as ``retry_until_decided`` makes them.

    Args:
        structural: The schema that the server itself applies to what it is sent; None where it
            applies none.

    Attributes:
        is_answered: Whether the server has answered with what it would store.
        refused_by: The webhook that takes no dry runs, if that is why there is no answer.
        size_bytes: The size of the object as read; None if it was not read or cannot be measured.
    """

    def __init__(
        self, context: RunContext[Plan], key: ObjectKey, structural: Structural | None
    ) -> None:
        self.key = key
        self.is_answered = False
        self.refused_by = ""
        self.size_bytes: int | None = None
        self._objects = context.ports.objects
        self._resource = context.planned.resource
        self._probe = context.probe
        self._structural = structural

    async def attempt(self) -> WriteResult:
        """
        Read the object, and try to rewrite it.

        Raises:
            RunStoppedError: Admission changes it.
        """
        try:
            return await self._try()
        except RejectedError as error:
            refused = _NO_DRY_RUNS.search(error.detail)
            self.refused_by = refused[1] if refused else ""
            raise
        except ConversionError as error:
            raise await self._probe.check_alone(error, self.key) from error

    def note(self, error: ClusterError, *, reads_again: bool) -> None:
        """
        Remember nothing: each attempt reads anew.
        """

    async def _try(self) -> WriteResult:
        before = await self._objects.get_object(self._resource, self.key)
        self.size_bytes = size_of(before)
        seen = identity_of(before)
        if not seen.is_whole:
            return Failed(UNGUARDED)
        after = await self._objects.try_rewrite(
            self._resource, self.key, uid=seen.uid, resource_version=seen.resource_version
        )
        self.is_answered = True
        changed = differences(_comparable(_as_sent(before, self._structural)), _comparable(after))
        if changed:
            raise RunStoppedError(
                Reason.ADMISSION_MUTATES,
                f"a rewrite of {self.key} that changes nothing would be changed by admission at"
                f" {enumerated(render_path(path) for path in changed)}",
            )
        return Unchanged()


def spread(keys: Sequence[ObjectKey], *, most: int) -> tuple[ObjectKey, ...]:
    """
    Choose keys at even distances: the first, the middle and the last one before the others.
    """
    count = min(most, len(keys))
    if count <= 1:
        return tuple(keys[:count])
    even = [keys[(len(keys) - 1) * part // (count - 1)] for part in range(count)]
    order = sorted(range(count), key=lambda part: part not in (0, count // 2, count - 1))
    return tuple(even[part] for part in order)


def _as_sent(obj: dict[str, JSON], structural: Structural | None) -> dict[str, JSON]:
    # Of an object that is stored at another version, a read shows the defaults of that one only;
    # a write fills in those of the storage version, and that is no admission's doing.
    sent = schema.default(obj, structural, profile=Profile.APISERVER).value
    return sent if isinstance(sent, dict) else obj


def _comparable(obj: dict[str, JSON]) -> JSON:
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        return obj
    kept = {key: value for key, value in metadata.items() if key not in _SET_BY_EVERY_WRITE}
    return {**obj, "metadata": kept}
