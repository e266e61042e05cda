"""
How large is an object in etcd, and does it come near to what etcd takes in one request?
"""

import orjson

from espalier.paths import JSON

MAX_REQUEST_BYTES = 3 * 512 * 1024
"""
What etcd takes in one request, unless ``--max-request-bytes`` says otherwise: 1.5 MiB.

Source:
    etcd, ``server/embed/config.go``, ``DefaultMaxRequestBytes``.
"""

NEAR_BYTES = MAX_REQUEST_BYTES * 8 // 10
"""From this size on an object is named: what controllers add to it may be refused soon."""

OVER, NEAR = "over", "near"

# The request has the key, the comparison and the read of a failed transaction besides the object.
_AROUND_BYTES = 1024
# Go's encoder writes each of these as six ASCII characters.
_ESCAPED = ((b"<", 5), (b">", 5), (b"&", 5), (b"\xe2\x80\xa8", 3), (b"\xe2\x80\xa9", 3))


def stored_bytes(value: JSON) -> int:
    """
    Return the size of an object as an API server writes it to etcd; 0 if it cannot be measured.

    Source:
        apimachinery, ``pkg/apis/meta/v1/unstructured/unstructured.go``, ``UnstructuredJSONScheme``;
        Go, ``encoding/json``, ``Encoder.SetEscapeHTML``.
    """
    try:
        text = orjson.dumps(value)
    except orjson.JSONEncodeError:
        # Nested too deeply, or with a number that does not fit.
        return 0
    return len(text) + 1 + sum(text.count(char) * more for char, more in _ESCAPED)


def owned_bytes(metadata: JSON) -> int:
    """
    Return the size of what the entries of ``managedFields`` own.
    """
    match metadata:
        case {"managedFields": list(entries)}:
            owned = [one.get("fieldsV1") for one in entries if isinstance(one, dict)]
            return sum(stored_bytes(fields) for fields in owned if isinstance(fields, dict))
        case _:
            return 0


def band_of(size_bytes: int) -> str:
    """
    Return ``over`` if etcd refuses an object of this size, ``near`` if it soon may; else nothing.
    """
    if size_bytes + _AROUND_BYTES > MAX_REQUEST_BYTES:
        return OVER
    return NEAR if size_bytes >= NEAR_BYTES else ""
