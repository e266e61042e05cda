"""
Check list types, list map keys and map types.
"""

from collections.abc import Iterator

from espalier.crd.internal.json_schema_props import Keywords, child, children, text, texts
from espalier.crd.validation import errors as field_errors
from espalier.findings import FieldError
from espalier.paths import JSON, Key, Path

_LIST_TYPE, _MAP_TYPE = "x-kubernetes-list-type", "x-kubernetes-map-type"
_MAP_KEYS = "x-kubernetes-list-map-keys"


def list_errors(node: Keywords, path: Path, *, require_atomic_sets: bool) -> Iterator[FieldError]:
    """
    Yield the errors of the list and map types of one node.

    Args:
        require_atomic_sets: Whether the items of sets must be atomic.

    Source:
        apiextensions-apiserver, ``pkg/apis/apiextensions/validation/validation.go``,
        ``ValidateCustomResourceDefinitionOpenAPISchema``.
    """
    if _MAP_TYPE in node:
        yield from _needs_type(node, "object", _MAP_TYPE, path)
        yield from _known(node, _MAP_TYPE, ("atomic", "granular"), path)
    if _LIST_TYPE in node:
        wrong_type = list(_needs_type(node, "array", _LIST_TYPE, path))
        yield from wrong_type
        if not wrong_type and require_atomic_sets and is_set_of_non_atomic(node):
            yield _non_atomic(node, path)
        yield from _known(node, _LIST_TYPE, ("atomic", "set", "map"), path)
    if texts(node, _MAP_KEYS) and text(node, _LIST_TYPE) != "map":
        detail = "must be map if x-kubernetes-list-map-keys is non-empty"
        below = (*path, _LIST_TYPE)
        if _LIST_TYPE in node:
            yield field_errors.invalid(below, node[_LIST_TYPE], detail)
        else:
            yield field_errors.required(below, detail)
    if text(node, _LIST_TYPE) == "map":
        yield from _list_map(node, path)


def is_set_of_non_atomic(node: Keywords) -> bool:
    """
    Report whether a node is a set whose items are not atomic.
    """
    items = child(node, "items")
    if text(node, _LIST_TYPE) != "set" or items is None:
        return False
    if text(items, "type") == "array":
        # A list without a list type is atomic, but a map without a map type is not.
        return items.get(_LIST_TYPE, "atomic") != "atomic"
    return text(items, "type") == "object" and items.get(_MAP_TYPE) != "atomic"


def item_errors(node: Keywords, path: Path) -> Iterator[FieldError]:
    """
    Yield errors for nullable items of sets and maps, and for keys that an item may lack.

    Source:
        apiextensions-apiserver, ``pkg/apis/apiextensions/validation/validation.go``,
        ``validateMapListKeysMapSet``.
    """
    items, list_type = child(node, "items"), text(node, _LIST_TYPE)
    if items is None or list_type not in ("set", "map"):
        return
    if "nullable" in items:
        detail = f"cannot be nullable when x-kubernetes-list-type is {list_type}"
        yield field_errors.forbidden((*path, "items", "nullable"), detail)
    if list_type == "set":
        return
    for key in texts(node, _MAP_KEYS):
        found = children(items, "properties").get(key)
        if found is None:
            continue
        below = (*path, "items", "properties", Key(key))
        listed = "this property is in x-kubernetes-list-map-keys, so it"
        if key not in texts(items, "required") and "default" not in found:
            detail = f"{listed} must have a default or be a required property"
            yield field_errors.required((*below, "default"), detail)
        if "nullable" in found:
            yield field_errors.forbidden((*below, "nullable"), f"{listed} cannot be nullable")


def _needs_type(node: Keywords, type_: str, keyword: str, path: Path) -> Iterator[FieldError]:
    found, below = text(node, "type"), (*path, "type")
    detail = f"must be {type_} if {keyword} is specified"
    if not found:
        yield field_errors.required(below, detail)
    elif found != type_:
        yield field_errors.invalid(below, found, detail)


def _known(
    node: Keywords, keyword: str, known: tuple[str, ...], path: Path
) -> Iterator[FieldError]:
    found = text(node, keyword)
    if found not in known:
        yield field_errors.unsupported((*path, keyword), found, known)


def _non_atomic(node: Keywords, path: Path) -> FieldError:
    items = child(node, "items") or {}
    keyword = _LIST_TYPE if text(items, "type") == "array" else _MAP_TYPE
    detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
    # The server always prints the list type of the items, even if the map type is wrong.
    return field_errors.invalid((*path, "items", keyword), items.get(_LIST_TYPE), detail)


def _list_map(node: Keywords, path: Path) -> Iterator[FieldError]:
    keys = texts(node, _MAP_KEYS)
    if not keys:
        detail = "must not be empty if x-kubernetes-list-type is map"
        yield field_errors.required((*path, _MAP_KEYS), detail)
    if "items" not in node:
        detail = "must have a schema if x-kubernetes-list-type is map"
        yield field_errors.required((*path, "items"), detail)
        return
    items = child(node, "items")
    if items is None:
        detail = "must only have a single schema if x-kubernetes-list-type is map"
        yield field_errors.invalid((*path, "items"), node["items"], detail)
    elif text(items, "type") != "object":
        detail = "must be object if parent array's x-kubernetes-list-type is map"
        yield field_errors.invalid((*path, "items", "type"), text(items, "type"), detail)
    else:
        yield from _keys(items, keys, path)


def _keys(items: Keywords, keys: tuple[str, ...], path: Path) -> Iterator[FieldError]:
    printed: JSON = [*keys]
    for index, key in enumerate(keys):
        found = children(items, "properties").get(key)
        if found is None:
            detail = "entries must all be names of item properties"
            yield field_errors.invalid((*path, _MAP_KEYS), printed, detail)
        elif text(found, "type") in ("array", "object"):
            detail = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            below = (*path, "items", "properties", Key(key), "type")
            # The server prints the type of the items, not that of the key.
            yield field_errors.invalid(below, text(items, "type"), detail)
        if key in keys[:index]:
            detail = "must not contain duplicate entries"
            yield field_errors.invalid((*path, _MAP_KEYS), printed, detail)
