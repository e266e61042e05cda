"""
Changes of the keywords of one node: its type, its value validations, its rules and its default.

A keyword that accepts less than before is narrowed. Where that cannot be decided, as for patterns
and junctors, a change counts as one that narrows.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from espalier import schema
from espalier.golang.printing import go_json
from espalier.paths import JSON
from espalier.schema import Profile, Structural
from espalier.schema.model import ValueValidation
from espalier.schema.values import equal_json


class NodeChange(NamedTuple):
    """
    A change at a node: its kind, the keyword, what changes, and the kind of its effect.
    """

    kind: str
    keyword: str
    detail: str
    effect: str


REFUSED: Final = "refused"
"""A stored value may be invalid now."""

OTHER: Final = ""
"""Stored values stay valid."""

_TYPES: Final = frozenset({"string", "boolean", "array", "object", "number", "integer"})
_UPPER: Final = (
    ("max_length", "maxLength"),
    ("max_items", "maxItems"),
    ("max_properties", "maxProperties"),
)
_LOWER: Final = (
    ("min_length", "minLength"),
    ("min_items", "minItems"),
    ("min_properties", "minProperties"),
)
_RULES: Final = "x-kubernetes-validations"


def accepted_types(node: Structural) -> frozenset[str]:
    """
    Return the JSON types that a node accepts, null aside.
    """
    if node.int_or_string:
        return frozenset({"integer", "string"})
    if not node.type:
        return _TYPES
    return frozenset({node.type, "integer"} if node.type == "number" else {node.type})


def node_changes(old: Structural, new: Structural) -> Iterator[NodeChange]:
    """
    Yield the changes of the keywords of a node; not those of the nodes below it.
    """
    yield from _type(old, new)
    yield from _bounds(old.value_validation, new.value_validation)
    yield from _formats(old.value_validation, new.value_validation)
    yield from _enum(old.value_validation.enum, new.value_validation.enum)
    yield from _junctors(old.value_validation, new.value_validation)
    yield from _list_type(old, new)
    yield from _rules(old, new)
    if old.description != new.description:
        detail = "description changed"
        yield NodeChange("description-changed", "description", detail, OTHER)
    if new.embedded_resource and not old.embedded_resource:
        detail = "is an embedded resource now: apiVersion, kind and metadata are checked"
        yield NodeChange(
            "embedded-resource-added", "x-kubernetes-embedded-resource", detail, REFUSED
        )
    elif old.embedded_resource and not new.embedded_resource:
        detail = "is no embedded resource any more"
        yield NodeChange("embedded-resource-removed", "", detail, OTHER)


def _type(old: Structural, new: Structural) -> Iterator[NodeChange]:
    before, after = accepted_types(old), accepted_types(new)
    keyword = "type" if new.type else "x-kubernetes-int-or-string"
    if not before <= after:
        detail = f"type changed from {_type_text(old)} to {_type_text(new)}"
        yield NodeChange("type-changed", keyword, detail, REFUSED)
    elif before != after:
        detail = f"type widened from {_type_text(old)} to {_type_text(new)}"
        yield NodeChange("type-widened", keyword, detail, OTHER)
    if old.nullable and not new.nullable:
        detail = "is not nullable any more"
        effect = "null is dropped, or replaced by a default, when the object is read"
        yield NodeChange("nullable-removed", "nullable", detail, effect)
    elif new.nullable and not old.nullable:
        yield NodeChange("nullable-added", "nullable", "is nullable now", OTHER)


def _type_text(node: Structural) -> str:
    return "int-or-string" if node.int_or_string else node.type or "any"


def _bounds(old: ValueValidation, new: ValueValidation) -> Iterator[NodeChange]:
    for attribute, keyword in _UPPER:
        before, after = getattr(old, attribute), getattr(new, attribute)
        yield from _bound(keyword, _upper(before, 0), _upper(after, 0), before, after)
    for attribute, keyword in _LOWER:
        before, after = getattr(old, attribute), getattr(new, attribute)
        yield from _bound(
            keyword, _upper(_negated(before), 0), _upper(_negated(after), 0), before, after
        )
    yield from _bound(
        "maximum",
        _upper(old.maximum, old.exclusive_maximum),
        _upper(new.maximum, new.exclusive_maximum),
        _open(old.maximum, old.exclusive_maximum),
        _open(new.maximum, new.exclusive_maximum),
    )
    yield from _bound(
        "minimum",
        _upper(_negated(old.minimum), old.exclusive_minimum),
        _upper(_negated(new.minimum), new.exclusive_minimum),
        _open(old.minimum, old.exclusive_minimum),
        _open(new.minimum, new.exclusive_minimum),
    )
    if new.multiple_of is not None and not _divides(new.multiple_of, old.multiple_of):
        yield _narrowed("multipleOf", old.multiple_of, new.multiple_of)
    elif old.multiple_of != new.multiple_of:
        yield _widened("multipleOf", old.multiple_of, new.multiple_of)


_Limit: TypeAlias = tuple[float, bool]
_NO_LIMIT: Final[_Limit] = (float("inf"), False)


def _upper(limit: float | None, is_exclusive: object) -> _Limit:
    # A limit as a tuple: of two equal ones, the exclusive one is the lower.
    return _NO_LIMIT if limit is None else (limit, not is_exclusive)


def _negated(limit: float | None) -> float | None:
    return None if limit is None else -limit


def _open(limit: float | None, is_exclusive: object) -> str | float | None:
    return f"{go_json(limit)} (exclusive)" if is_exclusive and limit is not None else limit


def _bound(
    keyword: str, before: _Limit, after: _Limit, old: JSON, new: JSON
) -> Iterator[NodeChange]:
    if after < before:
        yield _narrowed(keyword, old, new)
    elif before < after:
        yield _widened(keyword, old, new)


def _divides(new: float, old: float | None) -> bool:
    return old is not None and new != 0 and old % new == 0


def _narrowed(keyword: str, old: JSON, new: JSON) -> NodeChange:
    return NodeChange("bound-narrowed", keyword, _from_to(keyword, old, new), REFUSED)


def _widened(keyword: str, old: JSON, new: JSON) -> NodeChange:
    return NodeChange("bound-widened", keyword, _from_to(keyword, old, new), OTHER)


def _from_to(keyword: str, old: JSON, new: JSON) -> str:
    if old is None:
        return f"{keyword} {_shown(new)} added"
    if new is None:
        return f"{keyword} {_shown(old)} removed"
    return f"{keyword} changed from {_shown(old)} to {_shown(new)}"


def _shown(value: JSON) -> str:
    return value if isinstance(value, str) else go_json(value)


def _formats(old: ValueValidation, new: ValueValidation) -> Iterator[NodeChange]:
    for kind, keyword, before, after in (
        ("pattern", "pattern", old.pattern, new.pattern),
        ("format", "format", old.format, new.format),
    ):
        if before == after:
            continue
        detail = _from_to(keyword, before or None, after or None)
        if after:
            yield NodeChange(f"{kind}-changed", keyword, detail, REFUSED)
        else:
            yield NodeChange(f"{kind}-removed", keyword, detail, OTHER)


def _enum(old: Sequence[JSON], new: Sequence[JSON]) -> Iterator[NodeChange]:
    if not old and new:
        yield NodeChange("enum-added", "enum", f"enum {_listed(new)} added", REFUSED)
        return
    if old and not new:
        yield NodeChange("enum-removed", "enum", "enum removed", OTHER)
        return
    removed, added = _missing(old, new), _missing(new, old)
    if removed:
        detail = f"enum lost {_listed(removed)}"
        yield NodeChange("enum-value-removed", "enum", detail, REFUSED)
    if added:
        yield NodeChange("enum-value-added", "enum", f"enum got {_listed(added)}", OTHER)


def _missing(values: Sequence[JSON], others: Sequence[JSON]) -> list[JSON]:
    return [one for one in values if not any(equal_json(one, other) for other in others)]


def _listed(values: Sequence[JSON]) -> str:
    return ", ".join(map(go_json, values))


def _junctors(old: ValueValidation, new: ValueValidation) -> Iterator[NodeChange]:
    for keyword, before, after in (
        ("allOf", old.all_of, new.all_of),
        ("anyOf", _any_of(old), _any_of(new)),
        ("oneOf", old.one_of, new.one_of),
        ("not", _as_tuple(old.not_), _as_tuple(new.not_)),
    ):
        olds, news = [*map(_rendered, before)], [*map(_rendered, after)]
        lost, got = _missing(olds, news), _missing(news, olds)
        if not lost and not got and len(olds) == len(news):
            continue
        widens = not news or (keyword == "allOf" and not got)
        widens = widens or (keyword == "anyOf" and bool(olds) and not lost)
        if widens:
            yield NodeChange("junctor-removed", keyword, f"{keyword} accepts more", OTHER)
        else:
            detail = f"{keyword} {'changed' if olds else 'added'}"
            yield NodeChange("junctor-changed", keyword, detail, REFUSED)


def _rendered(node: Structural) -> JSON:
    return schema.render(node, profile=Profile.APISERVER)


def _any_of(validation: ValueValidation) -> tuple[Structural, ...]:
    # This one says only that the value is an int-or-string.
    return () if validation.any_of_is_int_or_string() else validation.any_of


def _as_tuple(node: Structural | None) -> tuple[Structural, ...]:
    return () if node is None else (node,)


def _list_type(old: Structural, new: Structural) -> Iterator[NodeChange]:
    before, after = old.list_type or "atomic", new.list_type or "atomic"
    if before != after:
        detail = f"list type changed from {before} to {after}"
        effect = "a list with duplicates is refused once it changes" if after != "atomic" else OTHER
        yield NodeChange("list-type-changed", "x-kubernetes-list-type", detail, effect)
    elif after == "map" and set(old.list_map_keys) != set(new.list_map_keys):
        detail = f"list map keys changed from {', '.join(old.list_map_keys)}"
        detail += f" to {', '.join(new.list_map_keys)}"
        effect = "a list with duplicates is refused once it changes"
        yield NodeChange("list-keys-changed", "x-kubernetes-list-map-keys", detail, effect)
    maps = (old.map_type or "granular", new.map_type or "granular")
    if maps[0] != maps[1]:
        detail = f"map type changed from {maps[0]} to {maps[1]}"
        yield NodeChange("map-type-changed", "x-kubernetes-map-type", detail, OTHER)


def _rules(old: Structural, new: Structural) -> Iterator[NodeChange]:
    before, after = _texts(old), _texts(new)
    for text in after:
        if text not in before:
            effect = (
                "an object that breaks it is refused once the value changes; if it cannot be"
                " evaluated, unchanged ones are refused, too"
            )
            yield NodeChange("rule-added", _RULES, f"rule added: {text}", effect)
    for text in before:
        if text not in after:
            yield NodeChange("rule-removed", _RULES, f"rule removed: {text}", OTHER)


def _texts(node: Structural) -> list[str]:
    found = (rule.get("rule") for rule in node.validations if isinstance(rule, dict))
    return [one.strip() for one in found if isinstance(one, str) and one.strip()]
