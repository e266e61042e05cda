"""
Would admission change what a rewrite sends? A few objects are tried as a dry run.
"""

from collections.abc import Sequence

import orjson

from espalier import schema
from espalier.engine.conditions import Reason, enumerated
from espalier.engine.pacing import Pacer
from espalier.engine.ports import ObjectKey, Objects, Resource
from espalier.engine.rewriting import identity_of
from espalier.errors import ClusterError, RejectedError, RunStoppedError
from espalier.paths import JSON, Path, render_path
from espalier.schema import Profile, Structural

SAMPLES = 3
BAD_REQUEST = 400

_SET_BY_EVERY_WRITE = frozenset({"resourceVersion", "managedFields", "generation"})


async def sample(
    objects: Objects,
    resource: Resource,
    keys: Sequence[ObjectKey],
    pacer: Pacer,
    *,
    structural: Structural | None,
) -> None:
    """
    Try the rewrite of a few objects, and tell the pacer their sizes.

    Objects that are gone, refused or changed meanwhile say nothing here: the pass meets them.

    Args:
        structural: The schema that the server itself applies to what it is sent; None where it
            applies none.

    Raises:
        RunStoppedError: Admission changes an object, or does not take dry runs.
    """
    sizes = []
    for key in spread(keys):
        try:
            before = await objects.get_object(resource, key)
            sizes += _sizes_of(before)
            uid, resource_version = identity_of(before)
            after = await objects.try_rewrite(
                resource, key, uid=uid, resource_version=resource_version
            )
        except RejectedError as error:
            if error.status == BAD_REQUEST:
                raise RunStoppedError(
                    Reason.ADMISSION_MUTATES,
                    f"a rewrite of {key} cannot be tried as a dry run (400 {error.reason}):"
                    " an admission webhook may not support it, so what it changes is not known",
                ) from error
            continue
        except ClusterError:
            continue
        changed = differences(_comparable(_as_sent(before, structural)), _comparable(after))
        if changed:
            raise RunStoppedError(
                Reason.ADMISSION_MUTATES,
                f"a rewrite of {key} that changes nothing would be changed by admission at"
                f" {enumerated(render_path(path) for path in changed)}; nothing was rewritten",
            )
    pacer.sampled(sizes)


def spread(keys: Sequence[ObjectKey]) -> tuple[ObjectKey, ...]:
    """
    Choose the first, the last and one in the middle.
    """
    if len(keys) <= SAMPLES:
        return tuple(keys)
    return keys[0], keys[len(keys) // 2], keys[-1]


def differences(before: JSON, after: JSON) -> list[Path]:
    """
    Find the topmost paths at which two values differ, however deeply they are nested.
    """
    found: list[Path] = []
    waiting: list[tuple[Path, JSON, JSON]] = [((), before, after)]
    while waiting:
        path, left, right = waiting.pop()
        match left, right:
            case dict(), dict():
                found += [(*path, key) for key in left.keys() ^ right.keys()]
                waiting += [((*path, key), left[key], right[key]) for key in left if key in right]
            case list(), list() if len(left) == len(right):
                pairs = zip(left, right, strict=True)
                waiting += [((*path, index), *pair) for index, pair in enumerate(pairs)]
            case _:
                if not schema.equal_json(left, right):
                    found.append(path)
    # Members of one container have steps of one type, so paths into one value can be sorted.
    return sorted(found)


def _sizes_of(obj: dict[str, JSON]) -> list[int]:
    try:
        return [len(orjson.dumps(obj))]
    except orjson.JSONEncodeError:
        # Nested too deeply to be measured; the others will do.
        return []


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
