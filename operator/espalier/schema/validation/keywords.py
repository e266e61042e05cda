"""
The checks of single keywords: one function for each keyword, and a table of them.

The messages, their order and their peculiarities are those of API servers.
"""

import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from espalier.findings import ErrorType
from espalier.golang.printing import go_json, go_text, quote
from espalier.golang.regexps import pattern_error
from espalier.golang.strfmt import predicate_of
from espalier.paths import JSON
from espalier.schema.model import Structural
from espalier.schema.validation.numbers import (
    check_maximum,
    check_minimum,
    check_multiple_of,
    check_range,
    float64_of,
    int64_of,
    is_integral,
)
from espalier.schema.validation.violations import At, Check, Undeclared, ValueViolations, Violation
from espalier.schema.values import equal_json, mark_of, type_of

if TYPE_CHECKING:
    import re2

_MAX_RUNE, _SURROGATES = 0x10FFFF, range(0xD800, 0xE000)
_REPLACEMENT = "\ufffd"
_MAX_PROGRAM_BYTES = 256 << 20

JUNCTOR_TEXTS = MappingProxyType(
    {
        "anyOf": "must validate at least one schema (anyOf)",
        "oneOf": "must validate one and only one schema (oneOf)",
        "allOf": "must validate all the schemas (allOf)",
        "not": "must not validate the schema (not)",
    }
)
"""The message for a value that does not satisfy a junctor as a whole."""


def _types(node: Structural) -> tuple[str, ...]:
    if node.int_or_string:
        return ("integer", "string")
    return (node.type,) if node.type else ()


def check_type(value: JSON, node: Structural, at: At, result: ValueViolations) -> None:
    """
    ``type`` and ``nullable``, and the formats of numbers.
    """
    types, format_ = _types(node), at.format_of(node)
    if value is None:
        if types and not node.nullable and "null" not in types:
            result.add(_mistyped(at, ",".join(types), "null"))
        else:
            result.matches += 1
        return
    if not types and not format_:
        return
    result.matches += 1
    problem = _type_problem(value, types, format_)
    if problem is None:
        result.matches += 1
    else:
        result.add(_mistyped(at, *problem))


def _type_problem(value: JSON, types: tuple[str, ...], format_: str) -> tuple[str, str] | None:
    # Return the expected and the found type; None if the type is right.
    found = type_of(value)
    numeric = "number" in types or "integer" in types
    is_accepted = (
        found in types
        or (found == "integer" and "number" in types)
        or (isinstance(value, float) and "integer" in types and is_integral(value))
    )
    if format_ and found in ("string", "array"):
        # The check of the format reports errors of a string; for a list there are none.
        return None if is_accepted or not numeric else (",".join(types), found)
    kind = {"integer": "int64", "number": "float64"}.get(found, "")
    if format_ not in ("", kind) and not is_accepted:
        return format_, kind
    return None if is_accepted else (",".join(types), found)


def _mistyped(at: At, expected: str, found: str) -> Violation:
    text = f"{at.name} in body must be of type {expected}: {quote(found)}"
    return Violation("type", ErrorType.TYPE_INVALID, at.path, found, text)


def _any_of(value: JSON, node: Structural, at: At, result: ValueViolations) -> None:
    best: ValueViolations | None = None
    for member in node.value_validation.any_of:
        tried = at.validate(value, member, at.path)
        if not tried.violations:
            result.merge(tried)
            return
        if best is None or tried.matches > best.matches:
            best = tried
    if best is not None:
        result.add(_junctor(at, "anyOf"))
        result.merge(best)


def _one_of(value: JSON, node: Structural, at: At, result: ValueViolations) -> None:
    members = node.value_validation.one_of
    if not members:
        return
    best: ValueViolations | None = None
    valid: list[ValueViolations] = []
    for member in members:
        tried = at.validate(value, member, at.path)
        if not tried.violations:
            valid.append(tried)
        elif best is None or tried.matches > best.matches:
            best = tried
    if len(valid) == 1:
        result.merge(valid[0])
        return
    count = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
    result.add(_junctor(at, "oneOf", f". {count}"))
    if best is not None and not valid:
        result.merge(best)


def _all_of(value: JSON, node: Structural, at: At, result: ValueViolations) -> None:
    members = node.value_validation.all_of
    valid = 0
    for member in members:
        tried = at.validate(value, member, at.path)
        valid += not tried.violations
        result.merge(tried)
    if valid != len(members):
        suffix = "" if valid else ". None validated"
        result.add(_junctor(at, "allOf", suffix))


def _not(value: JSON, node: Structural, at: At, result: ValueViolations) -> None:
    negated = node.value_validation.not_
    if negated is not None and not at.validate(value, negated, at.path).violations:
        result.add(_junctor(at, "not"))


def _junctor(at: At, keyword: str, suffix: str = "") -> Violation:
    text = f"{quote(at.name)} {JUNCTOR_TEXTS[keyword]}{suffix}"
    return Violation(keyword, ErrorType.INVALID, None, "", text)


def _max_length(value: JSON, node: Structural, at: At, result: ValueViolations) -> None:
    limit = node.value_validation.max_length
    if isinstance(value, str) and limit is not None and len(value) > limit:
        text = f"{at.name} in body should be at most {limit} chars long"
        # Code points are counted, although the message says bytes.
        detail = f"may not be more than {limit} {'byte' if limit == 1 else 'bytes'}"
        detail = detail if limit >= 0 else "value is too long"
        too_long = Violation("maxLength", ErrorType.TOO_LONG, at.path, None, text, detail)
        result.add(too_long)


def _min_length(value: JSON, node: Structural, at: At, result: ValueViolations) -> None:
    limit = node.value_validation.min_length
    if isinstance(value, str) and limit is not None and len(value) < limit:
        result.add(at.invalid("minLength", f"should be at least {limit} chars long", value))


def _pattern(value: JSON, node: Structural, at: At, result: ValueViolations) -> None:
    pattern = node.value_validation.pattern
    if not pattern or not isinstance(value, str):
        return
    error = pattern_error(pattern)
    if error is not None:
        text = f"should match '{pattern}, but pattern is invalid: {error}'"
        result.add(at.invalid("pattern", text, value))
    elif not has_match(pattern, value):
        result.add(at.invalid("pattern", f"should match '{pattern}'", value))


def has_match(pattern: str, text: str) -> bool:
    """
    Report whether a pattern, which must compile, matches a part of a text.
    """
    return bool(_compiled(pattern).search(_as_go_reads(text)))


@functools.lru_cache(maxsize=4096)
def _compiled(pattern: str) -> "re2._Regexp":
    import re2  # noqa: PLC0415 - few schemas have patterns

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MAX_PROGRAM_BYTES
    return re2.compile(_as_go_reads(pattern), options)


def _as_go_reads(text: str) -> str:
    # A lone surrogate is no character to Go: it decodes such an escape to U+FFFD.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _format(value: JSON, node: Structural, at: At, result: ValueViolations) -> None:
    name = at.format_of(node)
    is_of_format = predicate_of(name)
    if is_of_format is None or not isinstance(value, str):
        return
    result.matches += 1
    if not is_of_format(value):
        result.add(_mistyped(at, name, value)._replace(keyword="format"))


def _items(value: JSON, node: Structural, at: At, result: ValueViolations) -> None:
    if node.items is not None and isinstance(value, list):
        for index, item in enumerate(value):
            result.merge(at.validate_member(item, node.items, (*at.path, index)))


def _min_items(value: JSON, node: Structural, at: At, result: ValueViolations) -> None:
    limit = node.value_validation.min_items
    if isinstance(value, list) and limit is not None and len(value) < limit:
        result.add(at.invalid("minItems", f"should have at least {limit} items", len(value)))


def _max_items(value: JSON, node: Structural, at: At, result: ValueViolations) -> None:
    limit = node.value_validation.max_items
    if isinstance(value, list) and limit is not None and len(value) > limit:
        result.add(_too_many(at, "maxItems", "items", len(value), limit))


def _too_many(at: At, keyword: str, things: str, size: int, limit: int) -> Violation:
    text = f"{at.name} in body should have at most {limit} {things}"
    detail = f"must have at most {limit} {'item' if limit == 1 else 'items'}"
    detail = detail if limit >= 0 else "has too many items"
    return Violation(keyword, ErrorType.TOO_MANY, at.path, size, text, detail)


def _unique_items(value: JSON, node: Structural, at: At, result: ValueViolations) -> None:
    if not node.value_validation.unique_items or not isinstance(value, list):
        return
    if len(set(map(mark_of, value))) < len(value):
        result.add(at.invalid("uniqueItems", "shouldn't contain duplicates", ""))


def _enum(value: JSON, node: Structural, at: At, result: ValueViolations) -> None:
    entries = node.value_validation.enum
    if not entries or any(_is_entry(value, entry) for entry in entries):
        return
    text = f"{at.name} in body should be one of {go_text([*entries])}"
    shown = (entry if isinstance(entry, str) else go_json(entry) for entry in entries)
    detail = f"supported values: {', '.join(map(quote, shown))}"
    result.add(Violation("enum", ErrorType.NOT_SUPPORTED, at.path, value, text, detail))


def _is_entry(value: JSON, entry: JSON) -> bool:
    # Go converts the value to the entry's type first; a null has no type.
    if entry is None or value is None:
        return False
    kinds = type_of(value), type_of(entry)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        match kinds[1]:
            case "integer":
                value = int64_of(value)
            case "number":
                value = float64_of(value)
            case "string" if isinstance(value, int):
                is_rune = 0 <= value <= _MAX_RUNE and value not in _SURROGATES
                value = chr(value) if is_rune else _REPLACEMENT
    return equal_json(value, entry)


def _min_properties(value: JSON, node: Structural, at: At, result: ValueViolations) -> None:
    limit = node.value_validation.min_properties
    if isinstance(value, dict) and limit is not None and len(value) < limit:
        text = f"should have at least {limit} properties"
        result.add(at.invalid("minProperties", text, len(value)))


def _max_properties(value: JSON, node: Structural, at: At, result: ValueViolations) -> None:
    limit = node.value_validation.max_properties
    if isinstance(value, dict) and limit is not None and len(value) > limit:
        result.add(_too_many(at, "maxProperties", "properties", len(value), limit))


def _additional_properties(value: JSON, node: Structural, at: At, result: ValueViolations) -> None:
    additional = node.additional_properties
    if additional is None or additional is True or not isinstance(value, dict):
        return
    # Most values have a name by their first step already.
    is_unnamed = not at.root and (not at.path or (at.path[0] == "" and not at.name))
    for key in sorted(value.keys() - node.properties.keys()):
        if additional is False:
            text = f"{at.name}.{key} in body is a forbidden property"
            forbidden = Violation("additionalProperties", ErrorType.INVALID, at.path, key, text)
            result.add(forbidden)
        else:
            step = Undeclared(key) if is_unnamed else key
            result.merge(at.validate_member(value[key], additional, (*at.path, step)))


def _properties(value: JSON, node: Structural, at: At, result: ValueViolations) -> None:
    if isinstance(value, dict):
        for name, child in node.properties.items():
            if name in value:
                result.merge(at.validate_member(value[name], child, (*at.path, name)))


def _required(value: JSON, node: Structural, at: At, result: ValueViolations) -> None:
    if isinstance(value, dict):
        for key in node.value_validation.required:
            if key not in value:
                text, path = f"{at.name}.{key} in body is required", (*at.path, key)
                missing = Violation("required", ErrorType.REQUIRED, path, None, text, "")
                result.add(missing)


class Checks(NamedTuple):
    """
    Checks that apply to the same values.

    Attributes:
        of: The classes of the values that are checked; None for all values except null.
        matches: How many matches they add to a result, whether or not they find errors.
        only_first: Whether the first violation ends the checks.
    """

    of: frozenset[type] | None
    matches: int
    checks: tuple[Check, ...]
    only_first: bool = False


CHECKS: tuple[Checks, ...] = (
    Checks(None, 0, (check_type,)),
    Checks(None, 2, (_any_of, _one_of, _all_of, _not)),
    Checks(frozenset({str}), 1, (_max_length, _min_length, _pattern), only_first=True),
    Checks(frozenset({str}), 0, (_format,)),
    Checks(
        frozenset({int, float}), 2, (check_range, check_multiple_of, check_minimum, check_maximum)
    ),
    Checks(frozenset({list}), 2, (_items, _min_items, _max_items, _unique_items)),
    Checks(None, 1, (_enum,)),
    Checks(
        frozenset({dict}),
        1,
        (_min_properties, _max_properties, _additional_properties, _properties, _required),
    ),
)
"""All keywords, in the order of the server."""

CHECKS_OF_NULL: tuple[Check, ...] = (check_type, _enum)
"""The checks that apply to a null."""

SPEAKING: Mapping[Check, Callable[[Structural], object]] = MappingProxyType(
    {
        _any_of: lambda node: node.value_validation.any_of,
        _one_of: lambda node: node.value_validation.one_of,
        _all_of: lambda node: node.value_validation.all_of,
        _not: lambda node: node.value_validation.not_ is not None,
        _max_length: lambda node: node.value_validation.max_length is not None,
        _min_length: lambda node: node.value_validation.min_length is not None,
        _pattern: lambda node: node.value_validation.pattern,
        _format: lambda node: node.value_validation.format,
        check_range: lambda node: node.type == "integer" or node.value_validation.format,
        check_multiple_of: lambda node: node.value_validation.multiple_of is not None,
        check_minimum: lambda node: node.value_validation.minimum is not None,
        check_maximum: lambda node: node.value_validation.maximum is not None,
        _items: lambda node: node.items is not None,
        _min_items: lambda node: node.value_validation.min_items is not None,
        _max_items: lambda node: node.value_validation.max_items is not None,
        _unique_items: lambda node: node.value_validation.unique_items,
        _enum: lambda node: node.value_validation.enum,
        _min_properties: lambda node: node.value_validation.min_properties is not None,
        _max_properties: lambda node: node.value_validation.max_properties is not None,
        _additional_properties: lambda node: node.additional_properties not in (None, True),
        _properties: lambda node: node.properties,
        _required: lambda node: node.value_validation.required,
    }
)
"""For each check except that of the type: whether it can find or count anything at a node."""
