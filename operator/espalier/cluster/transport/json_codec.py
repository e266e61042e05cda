"""
JSON decoded as the API server decodes it, and encoded for it.
"""

import re
from collections.abc import Mapping, Sequence

import msgspec
import orjson

from espalier.cluster.transport.deep_nesting import with_room_if_needed
from espalier.paths import JSON

_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1

# Only a number of 19 digits or more can be outside of 64 bits; most documents hold none.
_LONG_NUMBER = re.compile(rb"[0-9]{19}")

# Fewer levels than the fast decoder refuses; of what has fewer containers, it had other reasons.
_FEW_CONTAINERS = 1000


def decode_json(text: bytes | memoryview) -> JSON:
    """
    Decode JSON; integers outside of 64 bits with sign become floats, as in the API server.

    Raises:
        ValueError: It is no JSON, or nested more deeply than any API server sends.

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
        # It reads 1024 levels only.
        value = _decode_deep(whole)
    if _LONG_NUMBER.search(text) is None:
        return value
    return _narrowed(value)


def encode_json(value: Mapping[str, JSON] | Sequence[JSON]) -> bytes:
    """
    Encode an object.

    Raises:
        ValueError: It is nested too deeply.
    """
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        # It goes down 254 levels only, though it reads 1024.
        pass
    try:
        return with_room_if_needed(lambda: msgspec.json.encode(value))
    except RecursionError as error:
        raise ValueError("nested too deeply to be written as JSON") from error


def _decode_deep(text: bytes) -> JSON:
    try:
        value: JSON = with_room_if_needed(lambda: msgspec.json.decode(text))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError("no JSON, or nested too deeply") from error
    return value


def _narrowed(root: JSON) -> JSON:
    # One decoder makes floats of what is outside of 64 bits, but takes what fits without a sign;
    # the other one takes integers of any length.
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
    # True and False are integers to Python, and within any bounds.
    if isinstance(value, int) and not _INT64_MIN <= value <= _INT64_MAX:
        try:
            return float(value)
        except OverflowError as error:
            raise ValueError("a number is out of range") from error
    return value
