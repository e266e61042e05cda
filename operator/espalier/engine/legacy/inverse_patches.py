"""
JSON Patches that bring back what pruning removed: pure, and bounded to ``test`` and ``add``.

Pruning removes fields of objects only, never items of lists, so each removed path has a parent
that is still there. List items are found by position, so every list on the way to a removed path
must be what it was right after pruning: the patch tests it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from espalier.paths import JSON, Path, Step, render_pointer
from espalier.schema.values import copy_json


class Missing(NamedTuple):
    """
    Stands for a place that is not there; JSON has no value for it.
    """


MISSING = Missing()


@dataclass(frozen=True, slots=True)
class Addition:
    """
    One removed field.

    Attributes:
        pointer: The tokens of the JSON Pointer, unescaped.
        value: What was there.
    """

    pointer: tuple[str, ...]
    value: JSON


def invert(before: JSON, after: JSON, removed: Iterable[Path]) -> tuple[dict[str, JSON], ...]:
    """
    Make the patch that turns ``after`` back into ``before``.

    Args:
        before: The value before pruning; never changed.
        after: The value after it.
        removed: The topmost paths that pruning removed, in any order.

    Returns:
        First a ``test`` of each list above a removed path, with its value after pruning, then
        the ``add``s.

    Source:
        RFC 6902.
    """
    tests: dict[Path, dict[str, JSON]] = {}
    adds: list[dict[str, JSON]] = []
    for path in removed:
        for length, step in enumerate(path):
            above = path[:length]
            if isinstance(step, int) and above not in tests:
                tests[above] = _operation("test", above, value_at(after, above))
        adds.append(_operation("add", path, value_at(before, path)))
    return (*tests.values(), *adds)


def value_at(value: JSON, path: Iterable[Step]) -> JSON:
    """
    Follow a path that is known to be there.

    Raises:
        KeyError: It is not there.
    """
    for step in path:
        match value:
            case dict():
                value = value[str(step)]
            case list() if isinstance(step, int) and 0 <= step < len(value):
                value = value[step]
            case _:
                raise KeyError(step)
    return value


def find(value: JSON, pointer: Sequence[str]) -> "JSON | Missing":
    """
    Follow a JSON Pointer's tokens; ``MISSING`` where it leads nowhere.
    """
    for token in pointer:
        match value:
            case dict():
                if token not in value:
                    return MISSING
                value = value[token]
            case list():
                index = int(token) if token.isascii() and token.isdigit() else len(value)
                if index >= len(value):
                    return MISSING
                value = value[index]
            case _:
                return MISSING
    return value


def additions(patch: Iterable[dict[str, JSON]]) -> Iterator[Addition]:
    """
    Read the ``add`` operations of a patch that ``invert`` made.
    """
    for operation in patch:
        pointer = operation.get("path")
        if operation.get("op") == "add" and isinstance(pointer, str):
            yield Addition(tokens_of(pointer), operation.get("value"))


def expected_lists(patch: Iterable[dict[str, JSON]]) -> dict[tuple[str, ...], JSON]:
    """
    Read the ``test`` operations of a patch that ``invert`` made.
    """
    return {
        tokens_of(pointer): operation.get("value")
        for operation in patch
        if operation.get("op") == "test" and isinstance(pointer := operation.get("path"), str)
    }


def tokens_of(pointer: str) -> tuple[str, ...]:
    """
    Split a JSON Pointer.

    Source:
        RFC 6901.
    """
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:])


def added(value: dict[str, JSON], wanted: Iterable[Addition]) -> dict[str, JSON]:
    """
    Copy an object and put fields into it, each into an object that is there and lacks it.

    Raises:
        KeyError: The place for a field is not there.
    """
    changed = {key: copy_json(member) for key, member in value.items()}
    for addition in wanted:
        parent = find(changed, addition.pointer[:-1])
        if not isinstance(parent, dict) or not addition.pointer:
            raise KeyError(addition.pointer)
        parent[addition.pointer[-1]] = copy_json(addition.value)
    return changed


def without(value: dict[str, JSON], pointers: Iterable[Sequence[str]]) -> dict[str, JSON]:
    """
    Return a copy of an object without the given fields; missing ones are skipped.
    """
    changed = {key: copy_json(member) for key, member in value.items()}
    for pointer in pointers:
        parent = find(changed, pointer[:-1])
        if pointer and isinstance(parent, dict):
            parent.pop(pointer[-1], None)
    return changed


def _operation(name: str, path: Path, value: JSON) -> dict[str, JSON]:
    return {"op": name, "path": render_pointer(path), "value": value}
