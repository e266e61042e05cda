"""
Lints: schemas that API servers accept, but that probably do not do what the author expects.

No server refuses these schemas; each lint describes what will happen.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct

from espalier.crd.advice.unknown_fields import unknown_keywords
from espalier.crd.definition import Definition
from espalier.crd.internal.parsed_schema import ParsedSchema
from espalier.errors import SchemaParseError
from espalier.golang.regexps import pattern_error
from espalier.paths import JSON, Key, Path, render_path
from espalier.schema import Profile, Structural
from espalier.schema.model import NO_VALIDATION, ValueValidation
from espalier.schema.rules.port import has_rules
from espalier.schema.validation.keywords import has_match
from espalier.schema.values import is_of_type


class Lint(Struct, frozen=True):
    """
    One lint.

    Attributes:
        rule: The name of the lint's rule.
        path: The path from the definition's root.
        detail: The message: what will happen.
    """

    rule: str
    path: Path
    detail: str

    def __str__(self) -> str:
        return f"{render_path(self.path)}: {self.detail} ({self.rule})"


def lint(
    definition: Definition, *, parsed: Sequence[ParsedSchema] | None = None
) -> tuple[Lint, ...]:
    """
    Return the lints of a definition.

    Args:
        parsed: The parsed schemas of the versions; None parses them here.

    Returns:
        The lints, version by version, each from the root of the schema down. A version whose schema
        cannot be parsed has none: ``check_definition`` reports that.
    """
    found = [*_short_names(definition)]
    if parsed is None:
        parsed = [ParsedSchema(version.schema) for version in definition.versions]
    for index, version in enumerate(definition.versions):
        path = ("spec", "versions", index, "schema", "openAPIV3Schema")
        try:
            structural = parsed[index].under(Profile.APISERVER)
        except SchemaParseError:
            continue
        if structural is not None:
            found += _unknown_keywords(version.schema, path)
            found += _lint_node(structural, _NodePosition(path))
            found += _rule_lints(structural, path)
    return tuple(found)


def _rule_lints(structural: Structural, path: Path) -> Iterator[Lint]:
    if has_rules(structural):
        from espalier.crd.advice.rule_lint import lint_rules  # noqa: PLC0415 - few schemas have rules

        for one in lint_rules(structural):
            yield Lint(one.rule, (*path, *one.path), one.detail)


def _short_names(definition: Definition) -> Iterator[Lint]:
    own = {definition.plural, definition.singular}
    for index, name in enumerate(definition.short_names):
        if name in own:
            detail = (
                f"{name} is already the plural or the singular: API servers accept it on create,"
                " but set NamesAccepted to False once it is added by an update"
            )
            yield Lint("own-short-name", ("spec", "names", "shortNames", index), detail)


def _unknown_keywords(raw: JSON, path: Path) -> Iterator[Lint]:
    # API servers warn about all other unknown keywords.
    unknown = tuple(unknown_keywords(raw, path, silent=True))
    warned = frozenset(unknown_keywords(raw, path, silent=False)) if unknown else frozenset()
    for below in unknown:
        if below not in warned:
            detail = "API servers do not know this keyword, and drop it here without a warning"
            yield Lint("unknown-keyword", below, detail)


class _NodePosition(NamedTuple):
    """
    The position of a node.

    Attributes:
        may_be_absent: The nearest object above that may be absent, if there are defaults below it.
        is_required: Whether the parent requires this node.
        within_map: Whether the node is below ``additionalProperties``.
    """

    path: Path
    may_be_absent: Path | None = None
    is_required: bool = False
    within_map: bool = False


def _lint_node(node: Structural, place: _NodePosition) -> Iterator[Lint]:
    checks = _CHECKS_OF_STRUCTURE if node.value_validation is NO_VALIDATION else _CHECKS
    for check in checks:
        yield from check(node, place)
    required = node.value_validation.required
    for name, child in node.properties.items():
        below = (*place.path, "properties", Key(name))
        is_required, may_be_absent = name in required, place.may_be_absent
        if child.default is not None:
            # If the child itself is defaulted, its own absent properties are, too.
            inner = None
        elif is_required:
            inner = may_be_absent
        else:
            inner = below if _might_default_to_empty(node, name) else None
        if node.type in ("", "object"):
            yield from _default_of_property(child, below, may_be_absent)
        elif child.default is not None:
            detail = f"never applies: the type of its parent is {node.type}"
            yield Lint("nested-default", (*below, "default"), detail)
        yield from _lint_node(child, _NodePosition(below, inner, is_required, place.within_map))
    if node.items is not None:
        # An item of a list is always present, whatever its own fields.
        below = (*place.path, "items")
        yield from _lint_node(node.items, _NodePosition(below, within_map=place.within_map))
    if isinstance(node.additional_properties, Structural):
        below = (*place.path, "additionalProperties")
        yield from _lint_node(node.additional_properties, _NodePosition(below, within_map=True))


def _might_default_to_empty(parent: Structural, name: str) -> bool:
    # If {} would be refused, or junctors of the parent make the property optional, a default is not
    # expected to add it.
    child = parent.properties[name]
    chosen = {
        field
        for _, validation in _validations(parent)
        if validation is not parent.value_validation
        for field in validation.required
    }
    return (
        name not in chosen
        and parent.value_validation.max_properties is None
        and child.value_validation.min_properties in (None, 0)
        and not any(_lacks_required(child, validation) for _, validation in _validations(child))
    )


def _lacks_required(node: Structural, validation: ValueValidation) -> bool:
    return any(
        name not in node.properties or node.properties[name].default is None
        for name in validation.required
    )


def _default_of_property(node: Structural, path: Path, absent: Path | None) -> Iterator[Lint]:
    # A default that is a zero value only documents what absence means.
    is_zero = node.default in ("", 0, False, [], {})
    if node.default is not None and absent is not None and not is_zero:
        name = absent[-1]
        detail = f"does not apply where {name} is absent, since {name} itself has no default"
        yield Lint("nested-default", (*path, "default"), detail)


def _default_within_map(node: Structural, place: _NodePosition) -> Iterator[Lint]:
    if node.default is not None and place.within_map:
        detail = "below additionalProperties, where API servers do not check defaults"
        yield Lint("default-within-map", (*place.path, "default"), detail)


_ZEROS: dict[str, JSON] = {"string": "", "integer": 0, "number": 0, "boolean": False}


def _declarative_default(node: Structural, place: _NodePosition) -> Iterator[Lint]:
    # A generator makes a field required if Go always writes it: then the field is never absent, and
    # the zero value that Go writes is not defaulted.
    if node.default is None or not place.is_required:
        return
    below = (*place.path, "default")
    if node.type == "object" and node.default != {}:
        detail = "a required object can only default to {}: Go always writes a struct"
        yield Lint("struct-default", below, detail)
    elif node.type in _ZEROS and node.default != _ZEROS[node.type]:
        detail = (
            f"never applies to what Go writes: a required {node.type} is written even when it"
            " is zero; make it optional"
        )
        yield Lint("zero-value-default", below, detail)


def _map_keys(node: Structural, place: _NodePosition) -> Iterator[Lint]:
    if node.list_type != "map" or node.items is None:
        return
    for key in node.list_map_keys:
        found = node.items.properties.get(key)
        required = key in node.items.value_validation.required
        if found is not None and found.default is None and not required:
            path = (*place.path, "items", "properties", Key(key))
            detail = "a list map key that is neither required nor has a default"
            yield Lint("optional-map-key", path, detail)


def _undeclared(node: Structural, place: _NodePosition) -> Iterator[Lint]:
    is_open = node.preserve_unknown_fields or node.additional_properties not in (None, False)
    own_fields = {"apiVersion", "kind", "metadata"}
    is_resource = node.embedded_resource or "properties" not in place.path
    if is_open:
        return
    for below, validation in _validations(node):
        if "not" in below:
            # There it means that a field must be absent.
            continue
        for name in validation.required:
            if name not in node.properties and not (is_resource and name in own_fields):
                detail = f"requires {name}, which is not declared and will be pruned"
                yield Lint("required-undeclared", (*place.path, *below, "required"), detail)


def _validations(node: Structural) -> Iterator[tuple[Path, ValueValidation]]:
    # The value validations of the node and of the members of its junctors, for the same value.
    waiting: deque[tuple[Path, ValueValidation]] = deque([((), node.value_validation)])
    while waiting:
        path, validation = waiting.popleft()
        yield path, validation
        waiting += [
            ((*path, *below), member.value_validation) for below, member in validation.junctors()
        ]


def _ranges(node: Structural, place: _NodePosition) -> Iterator[Lint]:
    for below, validation in _validations(node):
        is_open = validation.exclusive_minimum or validation.exclusive_maximum
        for least, most, name, excludes in (
            (validation.minimum, validation.maximum, "imum", is_open),
            (validation.min_length, validation.max_length, "Length", False),
            (validation.min_items, validation.max_items, "Items", False),
            (validation.min_properties, validation.max_properties, "Properties", False),
        ):
            if least is None or most is None:
                continue
            if least > most or (least == most and excludes):
                how = "equal to" if least == most else "above"
                detail = f"{how} max{name}: no value satisfies both"
                yield Lint("empty-range", (*place.path, *below, f"min{name}"), detail)


def _enums(node: Structural, place: _NodePosition) -> Iterator[Lint]:
    types = ("integer", "string") if node.int_or_string else (node.type,)
    for below, validation in _validations(node):
        for index, value in enumerate(validation.enum):
            path = (*place.path, *below, "enum", index)
            if value is None:
                yield Lint("enum-null", path, "null never matches an enum, even if it is listed")
            elif types != ("",) and not any(is_of_type(value, type_) for type_ in types):
                detail = f"never matches: the type is {' or '.join(types)}"
                yield Lint("enum-type", path, detail)
    own = node.value_validation.enum
    # Junctors are not checked for null.
    if own and node.nullable and None not in own:
        detail = "nullable, but the enum does not contain null"
        yield Lint("enum-nullable", (*place.path, "enum"), detail)


def _patterns(node: Structural, place: _NodePosition) -> Iterator[Lint]:
    for below, validation in _validations(node):
        problem = pattern_error(validation.pattern) if validation.pattern else None
        if problem is not None:
            yield Lint(
                "pattern", (*place.path, *below, "pattern"), f"not an RE2 pattern: {problem}"
            )


_INTEGERS = ("-1", "0", "1", "42", "1000000", str(2**63 - 1))


def _int_or_string(node: Structural, place: _NodePosition) -> Iterator[Lint]:
    all_of_it = tuple(_validations(node)) if node.int_or_string and not node.validations else ()
    if any(one.enum or (one.minimum, one.maximum) != (None, None) for _, one in all_of_it):
        return
    for below, validation in all_of_it:
        pattern, longest = validation.pattern, validation.max_length
        if "not" in below or (pattern and pattern_error(pattern)):
            continue
        for keyword, accepted in (
            ("pattern", [one for one in _INTEGERS if pattern and not has_match(pattern, one)]),
            ("maxLength", [one for one in _INTEGERS if longest is not None and len(one) > longest]),
        ):
            if accepted:
                detail = f"does not apply to integers: {accepted[0]} without quotes is accepted"
                yield Lint("string-bound-only", (*place.path, *below, keyword), detail)


def _profiles_differ(node: Structural, place: _NodePosition) -> Iterator[Lint]:
    if not node.preserve_unknown_fields:
        return
    children: list[tuple[Path, Structural]] = [
        (("properties", Key(name)), child) for name, child in node.properties.items()
    ]
    additional = node.additional_properties
    if isinstance(additional, Structural):
        children.append((("additionalProperties",), additional))
    pruned = "API servers prune unknown fields here, although the proposals preserve them"
    for below, child in children:
        if _is_bare(child):
            yield Lint("preserved-or-pruned", (*place.path, *below), pruned)
    if isinstance(additional, bool):
        yield Lint("preserved-or-pruned", (*place.path, "additionalProperties"), pruned)
    if node.items is not None and node.items.properties:
        detail = "API servers preserve unknown fields of items, although the proposals prune them"
        yield Lint("preserved-or-pruned", (*place.path, "items"), detail)


def _closed(node: Structural, place: _NodePosition) -> Iterator[Lint]:
    # Servers refuse it beside properties, and the members of junctors are not visited.
    if node.additional_properties is False and not node.properties:
        detail = (
            "the proposals forbid it; API servers do not prune the fields that it forbids, but"
            " refuse objects that have them"
        )
        yield Lint("closed-map", (*place.path, "additionalProperties"), detail)


def _is_bare(node: Structural) -> bool:
    if node.preserve_unknown_fields:
        return False
    if node.type == "array" and node.items is not None:
        return _is_bare(node.items)
    return node.type == "object" and not node.properties


_CHECKS: tuple[Callable[[Structural, _NodePosition], Iterator[Lint]], ...] = (
    _default_within_map,
    _declarative_default,
    _map_keys,
    _undeclared,
    _ranges,
    _enums,
    _patterns,
    _int_or_string,
    _profiles_differ,
    _closed,
)
# Most nodes of a schema have no value validations.
_CHECKS_OF_STRUCTURE = tuple(
    check
    for check in _CHECKS
    if check not in (_undeclared, _ranges, _enums, _patterns, _int_or_string)
)
RULES = (
    *("closed-map", "default-within-map", "empty-range", "enum-null", "enum-nullable"),
    *("enum-type", "nested-default", "optional-map-key", "own-short-name", "pattern"),
    *("preserved-or-pruned", "quantity-of-integer", "required-undeclared", "rule-not-checked"),
    *("string-bound-only", "struct-default", "transition-on-optional", "unguarded-field"),
    *("unknown-keyword", "zero-value-default"),
)
"""The names of all rules."""
