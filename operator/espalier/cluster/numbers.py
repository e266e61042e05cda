"""
JSON decoded as the API server decodes it, and encoded for it.
"""

import re
from collections.abc import Mapping, Sequence

import msgspec
import orjson

from espalier.paths import JSON

_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1

# Only a number of 19 digits or more can be outside of 64 bits; most documents hold none.
_LONG_NUMBER = re.compile(rb"[0-9]{19}")


def decode_json(text: bytes | memoryview) -> JSON:
    """
    Decode JSON; integers outside of 64 bits with sign become floats, as in the API server.

    Raises:
        ValueError: It is no JSON, or nested more than 1024 levels.

    Source:
        apimachinery, ``pkg/util/json/json.go``, ``ConvertInterfaceNumbers``.
    """
    value: JSON = orjson.loads(text)
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
        return msgspec.json.encode(value)
    except RecursionError as error:
        raise ValueError("nested too deeply to be written as JSON") from error


def _narrowed(root: JSON) -> JSON:
    # orjson makes floats of what is outside of 64 bits, but takes what fits without a sign.
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
        return float(value)
    return value
