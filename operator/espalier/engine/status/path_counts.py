"""
Which paths do many objects share? Counts that stay small however many objects there are.

Neither the items of lists nor keys that no schema names are distinguished; no value is kept.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from espalier.engine.ports import ObjectKey
from espalier.engine.status.text import MAX_NAMED, enumerated, printable_path
from espalier.paths import Key, Path
from espalier.plurals import counted

MAX_PATHS = 1000
"""How many distinct paths are kept; objects with others are counted all the same."""

_ANY = Key("*")


@dataclass(frozen=True, slots=True)
class PathCount:
    """
    One path, and who has it.

    Attributes:
        path: As the API server writes paths, with ``[*]`` for any item of a list.
        objects: How many objects have it; one counts once, whatever the number of its items.
        first: The first few of them.
    """

    path: str
    objects: int
    first: tuple[ObjectKey, ...]

    def __str__(self) -> str:
        named = enumerated((str(key) for key in self.first), total=self.objects)
        return f"{self.path} ({counted(self.objects, 'object')}: {named})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """
    The counts of one kind of finding.

    Attributes:
        objects: How many objects have one or more.
        first: The first few of them.
        paths: The most frequent ones first.
        is_cut: Whether there were more distinct paths than are kept.
    """

    objects: int = 0
    first: tuple[ObjectKey, ...] = ()
    paths: tuple[PathCount, ...] = ()
    is_cut: bool = False

    def describe(self) -> str:
        """
        Name the most frequent paths, and the first objects of each.
        """
        more = ", at least" if self.is_cut else ""
        listed = [str(path) for path in self.paths]
        return f"{enumerated(listed, separator='; ')}{more}"


class Counter:
    """
    Counts, an object at a time.
    """

    def __init__(self) -> None:
        self._objects = 0
        self._first: list[ObjectKey] = []
        self._paths: dict[str, tuple[int, list[ObjectKey]]] = {}
        self._is_cut = False

    def add(self, key: ObjectKey, paths: Iterable[str]) -> None:
        """
        Take an object into account; it counts only if it has a path.
        """
        found = frozenset(paths)
        if not found:
            return
        self._objects += 1
        if len(self._first) < MAX_NAMED:
            self._first.append(key)
        for path in found:
            if path not in self._paths and len(self._paths) >= MAX_PATHS:
                self._is_cut = True
                continue
            objects, first = self._paths.get(path, (0, []))
            if len(first) < MAX_NAMED:
                first.append(key)
            self._paths[path] = objects + 1, first

    def counts(self) -> Counts:
        """
        Return what was counted.
        """
        by_frequency = sorted(self._paths.items(), key=lambda item: (-item[1][0], item[0]))
        return Counts(
            objects=self._objects,
            first=tuple(self._first),
            paths=tuple(
                PathCount(path, objects, tuple(first)) for path, (objects, first) in by_frequency
            ),
            is_cut=self._is_cut,
        )


def general(path: Path) -> str:
    """
    Write a path so that it is the same for all items of a list.
    """
    return printable_path(_ANY if isinstance(step, int) else step for step in path)
