"""
Parse a decoded ``openAPIV3Schema`` into ``Structural``.

Kubernetes' camelCase names are converted here. Unknown keywords are ignored, as the API server's
decoder ignores them. A keyword of a wrong JSON type is an error, since no API server would have
stored it.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from espalier.errors import SchemaParseError
from espalier.paths import JSON, Key, Path, render_path
from espalier.schema.model import NO_PROPERTIES, NO_VALIDATION, Structural, ValueValidation
from espalier.schema.profile import Profile
from espalier.schema.values import copy_json, nests_deeper_than, type_of

MAX_SCHEMA_DEPTH = 200
"""How deep schemas may nest; real ones have about thirty levels."""

MAX_DEFAULT_DEPTH = 200
"""How deep a default may nest."""

_MOST_FLOAT = 1.7976931348623157e308  # as the server's decoder, which reads no larger numbers


def parse(schema: JSON, *, profile: Profile) -> Structural | None:
    """
    Parse a schema.

    Args:
        schema: The decoded ``openAPIV3Schema``, never changed; None if a version has no schema.
        profile: Only ``KEP`` reads ``readOnly`` and ``x-kubernetes-unions``.

    Returns:
        The schema's root; None for None, which all functions accept as "no schema".

    Raises:
        SchemaParseError: API servers refuse to read a part of the schema; with their message.

    Source:
        apiextensions-apiserver, ``pkg/apiserver/schema/convert.go``, ``NewStructural``.
    """
    if schema is None:
        return None
    return _Parser(profile).node(schema, (), 0)


class _Parser:
    """
    Parses nodes; holds the settings that all of them share.
    """

    def __init__(self, profile: Profile) -> None:
        self._kep = profile is Profile.KEP

    def node(self, raw: JSON, path: Path, depth: int) -> Structural:
        if depth > MAX_SCHEMA_DEPTH:
            raise SchemaParseError(f"the schema nests deeper than {MAX_SCHEMA_DEPTH} levels")
        read = _Keywords(raw, path)
        if read.has_only(_OF_LEAVES):
            return Structural(type=read.text("type"), description=read.text("description"))
        _refuse_unsupported(read)
        deeper = depth + 1
        validation = self._validation(read, deeper)
        if not read.has_any(_SELDOM_KEYWORDS):
            return Structural(
                type=read.text("type"),
                description=read.text("description"),
                items=self._items(read, deeper),
                properties=self._properties(read, deeper),
                additional_properties=self._additional(read, deeper),
                empty_lists=() if self._kep else read.empty(_KEPT_IF_EMPTY),
                value_validation=validation,
            )
        preserve = read.optional_flag("x-kubernetes-preserve-unknown-fields")
        if preserve is False:
            raise SchemaParseError(
                "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
            )
        return Structural(
            type=read.text("type"),
            title=read.text("title"),
            description=read.text("description"),
            nullable=read.flag("nullable"),
            default=_default(read),
            example=read.any("example"),
            external_docs=read.any("externalDocs"),
            read_only=self._kep and read.flag("readOnly"),
            items=self._items(read, deeper),
            properties=self._properties(read, deeper),
            additional_properties=self._additional(read, deeper),
            preserve_unknown_fields=preserve is True,
            embedded_resource=read.flag("x-kubernetes-embedded-resource"),
            int_or_string=read.flag("x-kubernetes-int-or-string"),
            list_type=read.optional_text("x-kubernetes-list-type"),
            list_map_keys=read.texts("x-kubernetes-list-map-keys"),
            map_type=read.optional_text("x-kubernetes-map-type"),
            validations=read.list("x-kubernetes-validations"),
            unions=read.list("x-kubernetes-unions") if self._kep else (),
            empty_lists=() if self._kep else read.empty(_KEPT_IF_EMPTY),
            value_validation=validation,
        )

    def _validation(self, read: "_Keywords", depth: int) -> ValueValidation:
        if not read.has_any(_VALIDATION_KEYWORDS):
            return NO_VALIDATION
        if not read.has_any(_VALIDATION_BUT_REQUIRED):
            return ValueValidation(required=read.texts("required"))
        negated = read.any("not")
        # In the server's order, so that the first error is the one that the server reports.
        not_ = None if negated is None else self.node(negated, (*read.path, "not"), depth)
        all_of, any_of, one_of = (
            tuple(
                self.node(_or_empty(item), (*read.path, keyword, index), depth)
                for index, item in enumerate(read.list(keyword))
            )
            for keyword in ("allOf", "anyOf", "oneOf")
        )
        return ValueValidation(
            format=read.text("format"),
            maximum=read.number("maximum"),
            exclusive_maximum=read.flag("exclusiveMaximum"),
            minimum=read.number("minimum"),
            exclusive_minimum=read.flag("exclusiveMinimum"),
            max_length=read.integer("maxLength"),
            min_length=read.integer("minLength"),
            pattern=read.text("pattern"),
            max_items=read.integer("maxItems"),
            min_items=read.integer("minItems"),
            unique_items=read.flag("uniqueItems"),
            multiple_of=read.number("multipleOf"),
            enum=tuple(copy_json(item) for item in read.list("enum")),
            max_properties=read.integer("maxProperties"),
            min_properties=read.integer("minProperties"),
            required=read.texts("required"),
            all_of=all_of,
            any_of=any_of,
            one_of=one_of,
            not_=not_,
        )

    def _items(self, read: "_Keywords", depth: int) -> Structural | None:
        match read.any("items"):
            case None | []:
                return None
            case list():
                raise SchemaParseError("OpenAPIV3Schema 'items' must be a schema, but is an array")
            case raw:
                return self.node(raw, (*read.path, "items"), depth)

    def _properties(self, read: "_Keywords", depth: int) -> Mapping[str, Structural]:
        if not read.is_present("properties"):
            return NO_PROPERTIES
        path = (*read.path, "properties")
        return MappingProxyType(
            {
                name: self.node(_or_empty(raw), (*path, Key(name)), depth)
                for name, raw in read.object("properties").items()
            }
        )

    def _additional(self, read: "_Keywords", depth: int) -> Structural | bool | None:
        match read.any("additionalProperties"):
            case None:
                return None
            case bool() as allowed:
                return allowed
            case dict() as raw:
                return self.node(raw, (*read.path, "additionalProperties"), depth)
            case _:
                where = render_path((*read.path, "additionalProperties"))
                raise SchemaParseError(f"{where}: boolean or JSON schema expected")


def _or_empty(raw: JSON) -> JSON:
    # Go decodes a null within a map or a list to a schema in which nothing is set.
    return {} if raw is None else raw


def _default(read: "_Keywords") -> JSON:
    default = read.any("default")
    if nests_deeper_than(default, MAX_DEFAULT_DEPTH):
        where = render_path((*read.path, "default"))
        raise SchemaParseError(f"{where}: nests deeper than {MAX_DEFAULT_DEPTH} levels")
    return copy_json(default)


def _refuse_unsupported(read: "_Keywords") -> None:
    if not read.has_any(_UNSUPPORTED_KEYWORDS):
        return
    checks: tuple[tuple[str, str, Callable[[str], Any]], ...] = (
        ("id", "id", read.text),
        ("$schema", "schema", read.text),
        ("$ref", "$ref", read.text),
        ("patternProperties", "patternProperties", read.object),
        ("dependencies", "dependencies", read.object),
        ("additionalItems", "additionalItems", read.is_present),
        ("definitions", "definitions", read.object),
    )
    for keyword, name, value_of in checks:
        if value_of(keyword):
            raise SchemaParseError(f"OpenAPIV3Schema '{name}' is not supported")


# The server keeps these lists as decoded, and compares nodes by Go's deep equality.
_KEPT_IF_EMPTY = ("required", "x-kubernetes-list-map-keys", "x-kubernetes-validations")

_UNSUPPORTED_KEYWORDS = frozenset(
    {"id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions"}
)

_VALIDATION_KEYWORDS = frozenset(
    {
        *("format", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength"),
        *("minLength", "pattern", "maxItems", "minItems", "uniqueItems", "multipleOf", "enum"),
        *("maxProperties", "minProperties", "required", "allOf", "anyOf", "oneOf", "not"),
    }
)


_VALIDATION_BUT_REQUIRED = _VALIDATION_KEYWORDS - {"required"}
# Most nodes have no others.
_OF_LEAVES = frozenset({"type", "description"})
_SELDOM_KEYWORDS = frozenset(
    {
        *("title", "nullable", "default", "example", "externalDocs", "readOnly"),
        *("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"),
        *("x-kubernetes-int-or-string", "x-kubernetes-list-type", "x-kubernetes-list-map-keys"),
        *("x-kubernetes-map-type", "x-kubernetes-validations", "x-kubernetes-unions"),
    }
)


class _Keywords:
    """
    The keywords of one node, each read as the type that it must have; null counts as not set.
    """

    __slots__ = ("_raw", "path")

    def __init__(self, raw: JSON, path: Path) -> None:
        self.path = path
        if not isinstance(raw, dict):
            raise self._wrong(raw, "", "v1.JSONSchemaProps")
        self._raw = raw

    def has_any(self, keywords: frozenset[str]) -> bool:
        return not keywords.isdisjoint(self._raw)

    def has_only(self, keywords: frozenset[str]) -> bool:
        return self._raw.keys() <= keywords

    def empty(self, keywords: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(keyword for keyword in keywords if self._raw.get(keyword) == [])

    def is_present(self, keyword: str) -> bool:
        return self._raw.get(keyword) is not None

    def any(self, keyword: str) -> JSON:
        return self._raw.get(keyword)

    def text(self, keyword: str) -> str:
        return self.optional_text(keyword) or ""

    def optional_text(self, keyword: str) -> str | None:
        value = self._raw.get(keyword)
        if value is not None and not isinstance(value, str):
            raise self._wrong(value, keyword, "string")
        return value

    def flag(self, keyword: str) -> bool:
        return self.optional_flag(keyword) is True

    def optional_flag(self, keyword: str) -> bool | None:
        value = self._raw.get(keyword)
        if value is not None and not isinstance(value, bool):
            raise self._wrong(value, keyword, "bool")
        return value

    def number(self, keyword: str, go_type: str = "float64") -> float | None:
        value = self._raw.get(keyword)
        if value is not None and type_of(value) not in ("integer", "number"):
            raise self._wrong(value, keyword, go_type)
        if isinstance(value, int) and abs(value) > _MOST_FLOAT:
            raise self._wrong(value, keyword, go_type)
        return value  # type: ignore[return-value]  # type_of has just checked it

    def integer(self, keyword: str) -> int | None:
        match self.number(keyword, "int64"):
            case None:
                return None
            case float() as number if not number.is_integer():
                raise self._wrong(number, keyword, "int64")
            case number:
                return int(number)

    def list(self, keyword: str) -> tuple[JSON, ...]:
        value = self._raw.get(keyword)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise self._wrong(value, keyword, "[]v1.JSONSchemaProps")
        return tuple(value)

    def texts(self, keyword: str) -> tuple[str, ...]:
        texts = []
        for item in self.list(keyword):
            if not isinstance(item, str):
                raise self._wrong(item, keyword, "string")
            texts.append(item)
        return tuple(texts)

    def object(self, keyword: str) -> Mapping[str, JSON]:
        value = self._raw.get(keyword)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self._wrong(value, keyword, "map[string]v1.JSONSchemaProps")
        return value

    def _wrong(self, value: JSON, keyword: str, expected: str) -> SchemaParseError:
        found = {"boolean": "bool", "integer": "number"}.get(type_of(value), type_of(value))
        path = (*self.path, keyword) if keyword else self.path
        where = f"Go struct field JSONSchemaProps.{render_path(path)}" if path else "Go value"
        return SchemaParseError(f"json: cannot unmarshal {found} into {where} of type {expected}")
