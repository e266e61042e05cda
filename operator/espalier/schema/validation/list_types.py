"""
Find duplicates in lists of the types set and map.
"""

from collections import Counter
from collections.abc import Hashable, Iterator

from espalier.findings import ErrorType, FieldError
from espalier.golang.printing import go_json
from espalier.paths import JSON, Key, Path
from espalier.schema.model import Structural


def check_list_types(
    value: JSON, structural: Structural | None, *, path: Path = ()
) -> Iterator[FieldError]:
    """
    Return the duplicates in sets and maps within an object; the root itself is not a list.

    Source:
        apiextensions-apiserver, ``pkg/apiserver/schema/listtype/validation.go``,
        ``ValidateListSetsAndMaps``.
    """
    if structural is None:
        return
    if isinstance(value, list):
        for index, item in enumerate(value):
            if structural.items is not None:
                yield from _below(item, structural.items, (*path, index))
    elif isinstance(value, dict):
        if isinstance(structural.additional_properties, Structural):
            for name, member in value.items():
                yield from _below(member, structural.additional_properties, (*path, Key(name)))
        for name, child in structural.properties.items():
            if name in value:
                yield from _below(value[name], child, (*path, name))


def new_list_errors(
    value: JSON, old: JSON, structural: Structural | None, *, path: Path = ()
) -> tuple[FieldError, ...]:
    """
    Return the duplicates, unless the old value has duplicates, too.

    Source:
        apiextensions-apiserver, ``pkg/registry/customresource/strategy.go``, ``ValidateUpdate``.
    """
    found = tuple(check_list_types(value, structural, path=path))
    return () if found and any(check_list_types(old, structural)) else found


def _below(value: JSON, node: Structural, path: Path) -> Iterator[FieldError]:
    if isinstance(value, list):
        if node.list_type == "set":
            yield from _duplicates(value, [_mark(item) for item in value], path)
        elif node.list_type == "map":
            yield from _map(value, node.list_map_keys, path)
    yield from check_list_types(value, node, path=path)


def _map(items: list[JSON], names: tuple[str, ...], path: Path) -> Iterator[FieldError]:
    keys: list[JSON] = []
    marks: list[Hashable] = []
    for index, item in enumerate(items):
        if item is not None and not isinstance(item, dict):
            detail = "must be an object for an array of list-type map"
            yield _error(ErrorType.INVALID, (*path, index), item, detail)
            return
        key = {name: item[name] for name in names if name in item} if item else {}
        keys.append(key)
        if key and len(names) == 1:
            # A single key is compared by its value, and not by its JSON.
            marks.append(_mark(key[names[0]]))
        else:
            marks.append(("key", go_json(key)))
    yield from _duplicates(keys, marks, path)


def _mark(value: JSON) -> Hashable:
    # 1, 1.0 and true are different in Go, but equal in Python.
    return value.__class__, go_json(value) if isinstance(value, (dict, list)) else value


def _duplicates(shown: list[JSON], marks: list[Hashable], path: Path) -> Iterator[FieldError]:
    seen: Counter[Hashable] = Counter()
    for index, mark in enumerate(marks):
        seen[mark] += 1
        if seen[mark] == 2:  # noqa: PLR2004 - only the second one is reported
            yield _error(ErrorType.DUPLICATE, (*path, index), shown[index], "")


def _error(type_: ErrorType, path: Path, value: JSON, detail: str) -> FieldError:
    return FieldError(type=type_, path=path, value=value, detail=detail, origin="listType")
