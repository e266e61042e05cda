"""
Parsed expressions from the wire format of protocol buffers, in which the parser hands them out.
"""

import struct
from collections import defaultdict
from collections.abc import Iterator
from typing import TypeAlias

from espalier.cel.expr import (
    Call,
    Comprehension,
    Entry,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Select,
    StructLiteral,
)
from espalier.cel.values import Uint

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MAP_KEY = 3
_SIGN_BIT, _UINT64 = 1 << 63, 1 << 64

_Scalar: TypeAlias = "int | bytes"
_Fields: TypeAlias = "dict[int, list[_Scalar]]"


def decode_parsed(data: bytes) -> Node:
    """
    Decode an ``Any`` with a ``cel.expr.ParsedExpr``.

    Source:
        cel-spec, ``proto/cel/expr/syntax.proto``.
    """
    parsed = _fields(_bytes(_fields(data), 2))
    positions = {}
    for entry in _fields(_bytes(parsed, 3))[4]:
        pair = _fields(entry)
        positions[_number(pair, 1)] = _number(pair, 2)
    return _Decoder(positions).expression(_bytes(parsed, 2))


class _Decoder:
    """
    Decodes expressions; holds the offsets of all nodes.
    """

    def __init__(self, positions: dict[int, int]) -> None:
        self._positions = positions

    def expression(self, data: _Scalar) -> Node:
        fields = _fields(data)
        id_ = _number(fields, 2)
        at = self._positions.get(id_, 0)
        for number, decode in _KINDS.items():
            if number in fields:
                return decode(self, id_, at, _fields(fields[number][-1]))
        return Literal(id_, at, None)

    def literal(self, id_: int, at: int, fields: _Fields) -> Node:
        for number, value in fields.items():
            return Literal(id_, at, _constant(number, value[-1]))
        return Literal(id_, at, None)

    def ident(self, id_: int, at: int, fields: _Fields) -> Node:
        return Ident(id_, at, _text(fields, 1))

    def select(self, id_: int, at: int, fields: _Fields) -> Node:
        operand = self.expression(_bytes(fields, 1))
        return Select(id_, at, operand, _text(fields, 2), bool(_number(fields, 3)))

    def call(self, id_: int, at: int, fields: _Fields) -> Node:
        target = self.expression(fields[1][-1]) if 1 in fields else None
        args = tuple(self.expression(each) for each in fields[3])
        return Call(id_, at, _text(fields, 2), target, args)

    def list(self, id_: int, at: int, fields: _Fields) -> Node:
        elements = tuple(self.expression(each) for each in fields[1])
        optional = frozenset(index for packed in fields[2] for index in _packed(packed))
        return ListLiteral(id_, at, elements, optional)

    def struct(self, id_: int, at: int, fields: _Fields) -> Node:
        entries = tuple(self._entry(_fields(each)) for each in fields[2])
        name = _text(fields, 1)
        if name:
            return StructLiteral(id_, at, entries=entries, name=name)
        return MapLiteral(id_, at, entries)

    def _entry(self, fields: _Fields) -> Entry:
        key = self.expression(fields[_MAP_KEY][-1]) if _MAP_KEY in fields else _text(fields, 2)
        value = self.expression(_bytes(fields, 4))
        at = self._positions.get(_number(fields, 1), 0)
        return Entry(key, value, bool(_number(fields, 5)), at)

    def comprehension(self, id_: int, at: int, fields: _Fields) -> Node:
        return Comprehension(
            id_,
            at,
            variable=_text(fields, 1),
            variable2=_text(fields, 8),
            iter_range=self.expression(_bytes(fields, 2)),
            accumulator=_text(fields, 3),
            init=self.expression(_bytes(fields, 4)),
            condition=self.expression(_bytes(fields, 5)),
            step=self.expression(_bytes(fields, 6)),
            result=self.expression(_bytes(fields, 7)),
        )


_KINDS = {
    3: _Decoder.literal,
    4: _Decoder.ident,
    5: _Decoder.select,
    6: _Decoder.call,
    7: _Decoder.list,
    8: _Decoder.struct,
    9: _Decoder.comprehension,
}


def _constant(number: int, value: _Scalar) -> "bool | int | Uint | float | str | bytes | None":
    match number, value:
        case 2, int():
            return bool(value)
        case 3, int():
            return value - _UINT64 if value & _SIGN_BIT else value
        case 4, int():
            return Uint(value)
        case 5, bytes():
            double: float = struct.unpack("<d", value)[0]
            return double
        case 6, bytes():
            return value.decode("utf-8", "surrogatepass")
        case 7, bytes():
            return value
        case _:
            return None


def _fields(data: _Scalar) -> _Fields:
    found: _Fields = defaultdict(list)
    if isinstance(data, bytes):
        for number, value in _read(data):
            found[number].append(value)
    return found


def _read(data: bytes) -> Iterator[tuple[int, _Scalar]]:
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, wire_type = key >> 3, key & 7
        if wire_type == _VARINT:
            value, at = _varint(data, at)
            yield number, value
            continue
        size = {_FIXED64: 8, _FIXED32: 4}.get(wire_type)
        if size is None:
            size, at = _varint(data, at)
        yield number, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004 - the bit for more bytes that follow
            return value, at
        shift += 7


def _packed(data: _Scalar) -> Iterator[int]:
    if isinstance(data, int):
        yield data
        return
    at = 0
    while at < len(data):
        value, at = _varint(data, at)
        yield value


def _number(fields: _Fields, number: int) -> int:
    value = fields[number][-1] if number in fields else 0
    return value if isinstance(value, int) else 0


def _bytes(fields: _Fields, number: int) -> bytes:
    value = fields[number][-1] if number in fields else b""
    return value if isinstance(value, bytes) else b""


def _text(fields: _Fields, number: int) -> str:
    return _bytes(fields, number).decode("utf-8", "surrogatepass")
