"""
Merge patches and JSON patches.

Source:
    RFC 7396, RFC 6902.
"""

from copy import deepcopy
from typing import Any

from espalier.sandbox.wire import Object, RequestRefusal, bad_request

_GO_NAMES = {list: "array", dict: "object", str: "string", bool: "bool", int: "number"}


def merge(obj: Object, patch: Any) -> Object:
    """
    Return an object with a merge patch applied.

    Raises:
        Refusal: 400 if the patch is not an object.
    """
    if not isinstance(patch, dict):
        found = _GO_NAMES.get(type(patch), "value")
        raise bad_request(
            f"error decoding patch: json: cannot unmarshal {found} into Go value of type "
            "map[string]interface {}"
        )
    return _merge(obj, patch)


def _merge(value: Any, patch: Object) -> Object:
    merged = dict(value) if isinstance(value, dict) else {}
    for key, change in patch.items():
        if change is None:
            merged.pop(key, None)
        elif isinstance(change, dict):
            merged[key] = _merge(merged.get(key), change)
        else:
            merged[key] = change
    return merged


def json_patch(obj: Object, patch: Any) -> Object:
    """
    Return an object with a JSON patch applied.

    Raises:
        Refusal: 400 if it is not a list of operations; 422 if an operation fails.
    """
    if not isinstance(patch, list):
        found = _GO_NAMES.get(type(patch), "value")
        raise bad_request(
            f"error decoding patch: json: cannot unmarshal {found} into Go value of type "
            "[]handlers.jsonPatchOp"
        )
    root: Object = {"": deepcopy(obj)}
    try:
        for operation in patch:
            _operate(root, operation)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise RequestRefusal(
            status=422,
            reason="Invalid",
            message="the server rejected our request due to an error in our request",
            details={},
        ) from error
    patched: Object = root[""]
    return patched


def _operate(root: Object, operation: Object) -> None:
    path = operation["path"]
    match operation["op"]:
        case "add":
            _add(root, path, deepcopy(operation["value"]))
        case "replace":
            _remove(root, path)
            _add(root, path, deepcopy(operation["value"]))
        case "remove":
            _remove(root, path)
        case "move":
            _add(root, path, _remove(root, operation["from"]))
        case "copy":
            _add(root, path, deepcopy(_get(root, operation["from"])))
        case "test":
            if _get(root, path) != operation.get("value"):
                raise ValueError(path)
        case unknown:
            raise ValueError(unknown)


def _steps(pointer: str) -> list[str]:
    if pointer and not pointer.startswith("/"):
        raise ValueError(pointer)
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")]


def _holder(root: Object, pointer: str) -> tuple[Any, str]:
    *above, last = _steps(pointer)
    holder: Any = root
    for step in above:
        holder = holder[int(step)] if isinstance(holder, list) else holder[step]
    return holder, last


def _get(root: Object, pointer: str) -> Any:
    holder, last = _holder(root, pointer)
    return holder[int(last)] if isinstance(holder, list) else holder[last]


def _add(root: Object, pointer: str, value: Any) -> None:
    holder, last = _holder(root, pointer)
    if not isinstance(holder, list):
        holder[last] = value
        return
    index = len(holder) if last == "-" else int(last)
    if not 0 <= index <= len(holder):
        raise IndexError(pointer)
    holder.insert(index, value)


def _remove(root: Object, pointer: str) -> Any:
    holder, last = _holder(root, pointer)
    return holder.pop(int(last) if isinstance(holder, list) else last)
