"""
Translate structural schemas into JSON Schemas that are at least as strict.

Keywords with the same meaning in both languages are translated one by one. Everything else becomes
a predicate, which the validator calls with the value, and which in the worst case asks the exact
engine. Two facts make the translation sound. The checks of a node do not depend on each other, so
they may be made in different places. And a negation contains only keywords with exactly the same
meaning in both languages, so a stricter part makes the whole stricter.
"""

import functools
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from msgspec import structs

from espalier.golang.strfmt import predicate_of
from espalier.paths import JSON
from espalier.schema.model import NO_VALIDATION, SCALAR_TYPES, Structural, ValueValidation
from espalier.schema.prefilter.predicates import Judge, exactly, matching, of_text, with_list_type
from espalier.schema.profile import Profile
from espalier.schema.validation.formats import format_of

Node: TypeAlias = dict[str, JSON]

JUDGE = "judge"
"""The keyword whose value is the index of a predicate."""

_MOST_LEVELS = 30
"""How deep schemas are translated: one level makes up to 4 in the document, of at most 255."""

_TYPES = SCALAR_TYPES | {"object", "array"}
_ANY: Node = {
    "anyOf": [{"type": "number"}, {"type": ["array", "boolean", "null", "object", "string"]}]
}
"""
A schema that every value satisfies, except infinities, NaN and integers with thousands of digits.
The validator does not treat these as numbers, so that no bound would reject them. This works only
with a single type.
"""

_LARGEST_LIMIT = 1 << 31
_EXACT_FLOATS = 1 << 53
_INT32_LIMIT, _INT64_LIMIT = 1 << 31, 1 << 63

_EXCLUSIVES = frozenset({"exclusive_minimum", "exclusive_maximum"})
"""Keywords that have no meaning of their own."""


class Translation(NamedTuple):
    """
    A JSON Schema (draft 4), and the predicates that it refers to.
    """

    document: Node
    judges: tuple[Judge, ...]


def translate(structural: Structural, *, profile: Profile) -> Translation:
    """
    Translate a schema; a value that satisfies the translation has no violations.
    """
    translator = _Translator(profile)
    document = translator.node(structural, 0)
    return Translation(document, tuple(translator.judges))


class _Translator:
    """
    Translate the nodes of one schema, and collect their predicates.
    """

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self.judges: list[Judge] = []
        self._scalars: dict[tuple[str, bool], Node] = {}

    def node(self, node: Structural, level: int) -> Node:
        if level >= _MOST_LEVELS or not self._is_translatable(node):
            return self._judged([exactly(node, self._profile)])
        if node.list_type is None and node.is_plain_scalar():
            return self._scalar(node)
        made = _type(node)
        settled: set[str] = set()
        judges: list[Judge] = []
        keywords = _set_in(node.value_validation)
        for name in keywords:
            translated = self._keyword(name, node, level)
            if isinstance(translated, dict):
                made = _both(made, translated)
            elif translated is not None:
                judges.append(translated)
            if translated is not None:
                settled.add(name)
        judges += self._left(node, settled, keywords)
        made |= self._structure(node, level)
        return _or_null(node, self._with_judges(made, judges))

    def _scalar(self, node: Structural) -> Node:
        key = (node.type, node.nullable)
        if key not in self._scalars:
            self._scalars[key] = _or_null(node, _type(node))
        return self._scalars[key]

    def _is_translatable(self, node: Structural) -> bool:
        if node.type and node.type not in _TYPES:
            return False
        has_both = node.properties and isinstance(node.additional_properties, Structural)
        if has_both and self._profile is Profile.APISERVER:
            # Both schemas would check the list types in declared fields then.
            return False
        return _are_encodable((*node.properties, *node.value_validation.required))

    def _keyword(self, name: str, node: Structural, level: int) -> "Node | Judge | None":
        if name in KEYWORDS:
            return KEYWORDS[name](node)
        members = getattr(node.value_validation, name)
        if name in ("all_of", "any_of"):
            keyword = "allOf" if name == "all_of" else "anyOf"
            return {keyword: [self.node(member, level + 1) for member in members]}
        return None

    def _left(self, node: Structural, settled: set[str], keywords: list[str]) -> list[Judge]:
        # The keywords of the node itself that are not translated.
        of_server = self._profile is Profile.APISERVER
        is_resource = node.embedded_resource and of_server
        judges: list[Judge] = []
        if is_resource or not settled | _EXCLUSIVES >= {*keywords}:
            # Formats and exclusive bounds stay, since they change the meaning of other keywords.
            unset = {
                name: getattr(NO_VALIDATION, name) for name in settled - _EXCLUSIVES - {"format"}
            }
            alone = Structural(
                type=node.type,
                nullable=node.nullable,
                int_or_string=node.int_or_string,
                embedded_resource=is_resource,
                value_validation=structs.replace(node.value_validation, **unset),
            )
            judges.append(exactly(alone, self._profile))
        if of_server and node.list_type in ("set", "map"):
            judges.append(with_list_type(node, self._profile))
        return judges

    def _structure(self, node: Structural, level: int) -> Node:
        made: Node = {}
        additional = node.additional_properties
        children: Node = {
            name: self.node(child, level + 1) for name, child in node.properties.items()
        }
        if additional is None or additional is True:
            children = {name: child for name, child in children.items() if child}
        else:
            made["additionalProperties"] = (
                self.node(additional, level + 1) if isinstance(additional, Structural) else False
            )
        if children:
            made["properties"] = children
        if node.items is not None:
            made["items"] = self.node(node.items, level + 1)
        return made

    def _with_judges(self, made: Node, judges: list[Judge]) -> Node:
        if not judges:
            return made
        judged = self._judged(judges)
        if made.keys().isdisjoint(_WITH_MEMBERS):
            return made | judged
        # The validator passes the whole surrounding schema to the predicate, so keep that small.
        return _both(made, {"allOf": [judged]})

    def _judged(self, judges: list[Judge]) -> Node:
        [first, *others] = judges
        self.judges.append(first if not others else lambda value: all(ask(value) for ask in judges))
        return {JUDGE: len(self.judges) - 1}


_WITH_MEMBERS = ("properties", "additionalProperties", "items", "allOf", "anyOf", "oneOf")


def _type(node: Structural) -> Node:
    types: list[JSON] = [node.type] if node.type else []
    if node.int_or_string:
        types = ["integer", "string"]
    if not types:
        return {}
    if node.nullable:
        made: Node = {"type": [*types, "null"]}
    else:
        made = {"type": types[0] if len(types) == 1 else types}
    if types == ["integer"]:
        limit = _limit_of_integers(node)
        made |= {"minimum": -limit, "maximum": limit - 1, "allOf": [{"type": "number"}]}
    return made


def _both(one: Node, other: Node) -> Node:
    # Narrower bounds replace those of the type; members are appended.
    both = one | other
    members, others = one.get("allOf"), other.get("allOf")
    if isinstance(members, list) and isinstance(others, list):
        both["allOf"] = [*members, *others]
    return both


def _limit_of_integers(node: Structural) -> int:
    return _INT32_LIMIT if format_of(node) == "int32" else _INT64_LIMIT


def _or_null(node: Structural, made: Node) -> Node:
    # Servers do not check a null against the members of junctors, but JSON Schema does.
    may_be_null = node.nullable or not (node.type or node.int_or_string)
    asks_members = any(keyword in made for keyword in ("allOf", "anyOf", "oneOf", "not"))
    if may_be_null and asks_members and not node.value_validation.enum:
        return {"anyOf": [{"type": "null"}, made]}
    return made


def _set_in(validation: ValueValidation) -> list[str]:
    if validation is NO_VALIDATION:
        return []
    return [
        name
        for name, value in structs.asdict(validation).items()
        if value is not None and value is not False and value not in ("", ())
    ]


def _are_encodable(texts: Iterable[str]) -> bool:
    # A lone surrogate cannot be passed to the validator.
    return all(text.encode("utf-8", "replace").decode() == text for text in texts)


def _count(node: Structural, *, name: str, keyword: str) -> "Node | Judge | None":
    limit = getattr(node.value_validation, name)
    return {keyword: limit} if 0 <= limit < _LARGEST_LIMIT else None


def _bound(node: Structural, *, name: str, keyword: str) -> "Node | Judge | None":
    bound = getattr(node.value_validation, name)
    exclusive = getattr(node.value_validation, f"exclusive_{name}")
    of_integers = node.type == "integer" and not node.int_or_string
    limit = min(_limit_of_integers(node) if of_integers else _EXACT_FLOATS, _EXACT_FLOATS)
    # To compare a bound with an integer, servers drop its fraction. That accepts more values,
    # unless the bound itself is excluded; and bounds of integers must not have a fraction.
    may_be_fraction = not exclusive and not of_integers
    if -limit < bound < limit and (may_be_fraction or float(bound).is_integer()):
        limited: Node = {keyword: bound, f"exclusive{keyword.capitalize()}": exclusive}
        return limited if of_integers else limited | {"allOf": [_ANY]}
    return None


def _format(node: Structural) -> "Node | Judge | None":
    name = format_of(node)
    if name in ("", "int32", "int64", "double"):
        return {}
    is_of_format = predicate_of(name)
    # Without a type, or with two, a format affects the check of the type.
    is_of_texts = node.type == "string" and not node.int_or_string
    return of_text(is_of_format) if is_of_format is not None and is_of_texts else None


def _pattern(node: Structural) -> "Node | Judge | None":
    return matching(node.value_validation.pattern)


def _enum(node: Structural) -> "Node | Judge | None":
    entries = node.value_validation.enum
    texts = {entry for entry in entries if isinstance(entry, str)}
    if len(texts) == len(entries) and _are_encodable(texts):
        return {"enum": [*sorted(texts)]}
    return None


def _required(node: Structural) -> "Node | Judge | None":
    return {"required": [*sorted({*node.value_validation.required})]}


def _one_of(node: Structural) -> "Node | Judge | None":
    members = [_mirrored(member) for member in node.value_validation.one_of]
    return None if None in members else {"oneOf": [*members]}


def _not(node: Structural) -> "Node | Judge | None":
    negated = node.value_validation.not_
    member = None if negated is None else _mirrored(negated)
    return None if member is None else {"not": member}


def _mirrored(node: Structural, level: int = 0) -> Node | None:
    # In a negation the translation must be neither stricter nor laxer: only the presence of fields
    # qualifies.
    required = node.value_validation.required
    if level >= _MOST_LEVELS or not node.differs_only_in("properties", "value_validation"):
        return None
    if {*_set_in(node.value_validation)} - {"required"}:
        return None
    if not _are_encodable((*node.properties, *required)):
        return None
    members = {name: _mirrored(child, level + 1) for name, child in node.properties.items()}
    if None in members.values():
        return None
    made: Node = {"properties": {**members}} if members else {}
    return made | ({"required": [*sorted({*required})]} if required else {})


KEYWORDS: Mapping[str, Callable[[Structural], "Node | Judge | None"]] = MappingProxyType(
    {
        "format": _format,
        "maximum": functools.partial(_bound, name="maximum", keyword="maximum"),
        "minimum": functools.partial(_bound, name="minimum", keyword="minimum"),
        "max_length": functools.partial(_count, name="max_length", keyword="maxLength"),
        "min_length": functools.partial(_count, name="min_length", keyword="minLength"),
        "pattern": _pattern,
        "max_items": functools.partial(_count, name="max_items", keyword="maxItems"),
        "min_items": functools.partial(_count, name="min_items", keyword="minItems"),
        "enum": _enum,
        "max_properties": functools.partial(_count, name="max_properties", keyword="maxProperties"),
        "min_properties": functools.partial(_count, name="min_properties", keyword="minProperties"),
        "required": _required,
        "one_of": _one_of,
        "not_": _not,
    }
)
"""
Translate keywords into JSON Schema or a predicate; None leaves the keyword to the exact engine.
"""
