"""
Namespaces in protobuf, as ``kubectl create namespace`` sends them.

Source:
    apimachinery, ``pkg/runtime/generated.proto``, ``Unknown``, and ``pkg/apis/meta/v1``,
    ``ObjectMeta``; api, ``core/v1/generated.proto``, ``Namespace``.
"""

from collections.abc import Iterator

from espalier.sandbox.wire import Object, bad_request

PROTOBUF = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_NAMES = {1: "name", 2: "generateName"}
_MAPS = {11: "labels", 12: "annotations"}


def namespace_of(body: bytes) -> Object:
    """
    Decode a namespace: its name, labels and annotations.

    Raises:
        Refusal: 400 if the body cannot be decoded.
    """
    if not body.startswith(_MAGIC):
        raise bad_request("the object provided is unrecognized: it is no protobuf of Kubernetes")
    try:
        raw = dict(_fields(body[len(_MAGIC) :])).get(2, b"")
        metadata: Object = {}
        for number, value in _fields(dict(_fields(raw)).get(1, b"")):
            if number in _NAMES and value:
                metadata[_NAMES[number]] = value.decode()
            elif number in _MAPS:
                entry = dict(_fields(value))
                entries = metadata.setdefault(_MAPS[number], {})
                entries[entry.get(1, b"").decode()] = entry.get(2, b"").decode()
    except (IndexError, ValueError) as error:
        raise bad_request(f"the object provided is unrecognized: {error}") from error
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    # Only fields of bytes matter here; the others are passed over.
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        number, wire_type = key >> 3, key & 7
        if wire_type == _BYTES:
            size, position = _varint(data, position)
            if position + size > len(data):
                raise ValueError("a field is cut off")
            yield number, data[position : position + size]
            position += size
        elif wire_type == _VARINT:
            _, position = _varint(data, position)
        elif wire_type in (_FIXED32, _FIXED64):
            position += 4 if wire_type == _FIXED32 else 8
        else:
            raise ValueError(f"a field has the wire type {wire_type}")


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:  # noqa: PLR2004 - the last byte lacks the highest bit
            return value, position
