"""
The paths that one form of an object has and another form lacks: computed here, or in a worker.

Comparing takes time by the size of the objects, so that of large ones is a worker's.
"""

import hashlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import orjson

from espalier.crd import Version
from espalier.crd.structural import structural_of
from espalier.engine.conversion.diffs import differences
from espalier.engine.ports import Computation, NotComputed, Workers, WorkItem
from espalier.engine.ports.records import state_of
from espalier.engine.status.path_counts import MAX_PATHS, general
from espalier.errors import MalformedValueError
from espalier.paths import JSON, Path
from espalier.schema import Profile, compile_normalizer

MAX_BYTES = 64 * 1024
"""How large two forms of an object may be together to be compared in the event loop."""

Pair = Sequence[dict[str, JSON]]


class LostPaths(NamedTuple):
    """
    What the second form of an object lacks, or has with another value.

    Attributes:
        paths: Sorted, without the indices of lists.
        is_cut: Whether there are more.
    """

    paths: tuple[str, ...]
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class PlainComparison:
    """
    Compares two forms as they are.
    """

    @property
    def digest(self) -> str:
        """
        Identify it; all are equal.
        """
        return "compare"

    def prepare(self) -> Callable[[Pair], LostPaths]:
        """
        Return what compares a pair.
        """
        return lambda pair: _lost(pair[0], pair[1])


@dataclass(frozen=True, slots=True, eq=False)
class RewriteComparison:
    """
    Compares what a version shows with what it will show once the other form is stored.

    Attributes:
        version: By whose schema the other form will be pruned, and filled with defaults.
        digest: Of that schema.
    """

    version: Version
    digest: str

    def prepare(self) -> Callable[[Pair], LostPaths]:
        """
        Compile the schema.
        """
        structural = structural_of(self.version)
        normalizer = compile_normalizer(structural, profile=Profile.APISERVER)

        def compare(pair: Pair) -> LostPaths:
            shown, kept = pair
            as_before = {**kept, "apiVersion": shown.get("apiVersion")}
            try:
                after = normalizer(as_before).value
            except MalformedValueError:
                after = as_before
            return _lost(shown, after if isinstance(after, dict) else {})

        return compare


def rewrite_comparison_of(version: Version) -> RewriteComparison:
    """
    Make the comparison by a version's schema.
    """
    try:
        content = orjson.dumps(version.schema)
    except orjson.JSONEncodeError:
        # Nested too deeply for the encoder. Another key for each such schema does no harm.
        content = f"{version.name} {id(version.schema)}".encode()
    return RewriteComparison(version, f"rewrite {hashlib.sha256(content).hexdigest()}")


class PathComparer:
    """
    Compares pairs of forms by one computation.

    Args:
        workers: None to compare all in the event loop.
    """

    def __init__(self, computation: Computation[LostPaths], workers: Workers | None) -> None:
        self._computation = computation
        self._workers = workers
        self._compare: Callable[[Pair], LostPaths] | None = None

    async def lost(self, shown: dict[str, JSON], kept: dict[str, JSON]) -> LostPaths | NotComputed:
        """
        Find what the second form of an object lacks.
        """
        if self._workers is not None:
            data = self._workers.pack([shown, kept])
            if len(data) > MAX_BYTES:
                item = WorkItem(state_of(kept), data)
                (found,) = await self._workers.compute(self._computation, [item])
                return found
        if self._compare is None:
            self._compare = self._computation.prepare()
        return self._compare((shown, kept))


def lost_paths(stored: Mapping[str, JSON], shown: Mapping[str, JSON]) -> list[Path]:
    """
    Find the paths of an object that another form of it lacks, or has with another value.
    """
    return [path for path in differences(_content(stored), _content(shown)) if _has(stored, path)]


def _lost(stored: Mapping[str, JSON], shown: Mapping[str, JSON]) -> LostPaths:
    distinct = dict.fromkeys(map(general, lost_paths(stored, shown)))
    kept = itertools.islice(distinct, MAX_PATHS)
    return LostPaths(tuple(sorted(kept)), is_cut=len(distinct) > MAX_PATHS)


def _content(obj: Mapping[str, JSON]) -> dict[str, JSON]:
    content = {name: part for name, part in obj.items() if name not in ("apiVersion", "kind")}
    match content.get("metadata"):
        case dict(metadata):
            content["metadata"] = {
                name: part for name, part in metadata.items() if name != "managedFields"
            }
        case _:
            pass
    return content


def _has(value: object, path: Path) -> bool:
    for step in path:
        match value, step:
            case dict(), str() if step in value:
                value = value[step]
            case list(), int() if step < len(value):
                value = value[step]
            case _:
                return False
    return True
