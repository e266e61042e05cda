"""
Decode JSON as the API server does, and encode JSON for it.
"""

import re
from collections.abc import Mapping, Sequence

import msgspec
import orjson

from espalier.cluster.transport.deep_nesting import with_large_stack_if_needed
from espalier.paths import JSON

_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1

# Only a number of 19 or more digits can exceed 64 bits; most documents have none.
_LONG_NUMBER = re.compile(rb"[0-9]{19}")

# With fewer containers than this, the fast decoder did not fail because of deep nesting.
_FEW_CONTAINERS = 1000


def decode_json(text: bytes | memoryview) -> JSON:
    """
    Decode JSON; integers outside of signed 64 bits become floats, as in the API server.

    Raises:
        ValueError: The text is not JSON, or is nested more deeply than any API server sends.

    Source:
        apimachinery, ``pkg/util/json/json.go``, ``ConvertInterfaceNumbers``.
    """
    value: JSON
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        whole = bytes(text)
        if whole.count(b"{") + whole.count(b"[") < _FEW_CONTAINERS:
            raise
        # The fast decoder reads only 1024 levels.
        value = _decode_deep(whole)
    if _LONG_NUMBER.search(text) is None:
        return value
    return _narrowed(value)


def encode_json(value: Mapping[str, JSON] | Sequence[JSON]) -> bytes:
    """
    Encode an object or a list.

    Raises:
        ValueError: The value is nested too deeply.
    """
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        # The fast encoder writes only 254 levels.
        pass
    try:
        return with_large_stack_if_needed(lambda: msgspec.json.encode(value))
    except RecursionError as error:
        raise ValueError("nested too deeply to be written as JSON") from error


def _decode_deep(text: bytes) -> JSON:
    try:
        value: JSON = with_large_stack_if_needed(lambda: msgspec.json.decode(text))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError("no JSON, or nested too deeply") from error
    return value


def _narrowed(root: JSON) -> JSON:
    # The fast decoder keeps integers that fit unsigned 64 bits; the other decoder keeps integers of
    # any length.
    holder: list[JSON] = [root]
    waiting: list[list[JSON] | dict[str, JSON]] = [holder]
    while waiting:
        container = waiting.pop()
        if isinstance(container, dict):
            for key, value in container.items():
                container[key] = _number(value)
            children = list(container.values())
        else:
            container[:] = [_number(value) for value in container]
            children = container
        waiting.extend(child for child in children if isinstance(child, (dict, list)))
    return holder[0]


def _number(value: JSON) -> JSON:
    # True and False are integers in Python, but they are always within the bounds.
    if isinstance(value, int) and not _INT64_MIN <= value <= _INT64_MAX:
        try:
            return float(value)
        except OverflowError as error:
            raise ValueError("a number is out of range") from error
    return value
