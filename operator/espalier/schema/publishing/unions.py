"""
``x-kubernetes-unions``: exactly one of several fields is set, and a discriminator names it.

The proposals describe unions, but API servers never supported them. A union that is incomplete, or
names fields in a way that the structural check refuses, is left unchanged.
"""

from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import NamedTuple

from msgspec.structs import replace

from espalier.paths import JSON
from espalier.schema.model import Structural, ValueValidation
from espalier.schema.values import equal_json


class _Union(NamedTuple):
    """
    One union that can be unfolded: its fields, as declared, and their discriminator values.
    """

    discriminator: str
    fields: tuple[str, ...]
    values: tuple[JSON, ...]


def unfold_unions(node: Structural) -> Structural:
    """
    Express the unions of one node with ``oneOf`` and ``enum``.

    Source:
        KEP-2335 (structural schemas), "Unions".
    """
    for union in _readable(node.unions):
        node = _unfold_discriminator(_unfold_choice(node, union), union)
    return node


def _readable(unions: Sequence[JSON]) -> Iterator[_Union]:
    for raw in unions:
        if not isinstance(raw, dict):
            continue
        discriminator, fields = raw.get("discriminator"), raw.get("fields")
        if isinstance(discriminator, str) and discriminator and isinstance(fields, dict) and fields:
            # Two fields may have the same discriminator value, but an enum lists it once.
            values = tuple(dict.fromkeys(v for v in fields.values() if isinstance(v, str)))
            yield _Union(discriminator, tuple(fields), values)


def _unfold_choice(node: Structural, union: _Union) -> Structural:
    validation = node.value_validation
    choices = tuple(
        Structural(value_validation=ValueValidation(required=(name,))) for name in union.fields
    )
    if _offers(validation, union) or any(
        _offers(member.value_validation, union) for member in validation.all_of
    ):
        return node
    if not validation.one_of:
        return replace(node, value_validation=replace(validation, one_of=choices))
    added = Structural(value_validation=ValueValidation(one_of=choices))
    return replace(node, value_validation=replace(validation, all_of=(*validation.all_of, added)))


def _offers(validation: ValueValidation, union: _Union) -> bool:
    required = tuple(choice.value_validation.required for choice in validation.one_of)
    return required == tuple((name,) for name in union.fields)


def _unfold_discriminator(node: Structural, union: _Union) -> Structural:
    properties: dict[str, Structural] = dict(node.properties)
    found = properties.get(union.discriminator, Structural(type="string"))
    properties[union.discriminator] = _restrict(found, union.values)
    return replace(node, properties=MappingProxyType(properties))


def _restrict(node: Structural, values: tuple[JSON, ...]) -> Structural:
    validation = node.value_validation
    if not validation.enum:
        return replace(node, value_validation=replace(validation, enum=values))
    members: Sequence[ValueValidation] = (
        validation,
        *(member.value_validation for member in validation.all_of),
    )
    if any(_names_the_same(member.enum, values) for member in members):
        return node
    added = Structural(value_validation=ValueValidation(enum=values))
    return replace(node, value_validation=replace(validation, all_of=(*validation.all_of, added)))


def _names_the_same(left: tuple[JSON, ...], right: tuple[JSON, ...]) -> bool:
    return all(
        any(equal_json(one, other) for other in others)
        for ones, others in ((left, right), (right, left))
        for one in ones
    )
