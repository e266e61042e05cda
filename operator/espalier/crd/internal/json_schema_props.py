"""
Read ``openAPIV3Schema`` like Go's decoder: only keywords that are set, each of its own type.

Unlike ``schema.parse`` this keeps what is not valid in a schema, so that it can be reported.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from espalier.errors import MalformedDefinitionError
from espalier.paths import JSON, Key, Path
from espalier.schema.values import copy_json, type_of

MAX_DEPTH = 200
"""How deep schemas may nest, as in ``schema.parse``."""

Keywords = Mapping[str, JSON]
"""The keywords that are set in one node; nested schemas have the same form."""


def decode_schema(raw: JSON, path: Path) -> dict[str, JSON]:
    """
    Read a schema.

    Returns:
        The keywords that are set in Go, in the order of the server's struct. Two schemas are equal
        for the server if, and only if, the results are equal.

    Raises:
        MalformedDefinitionError: A keyword has a wrong JSON type, or the schema is nested too
            deeply.

    Source:
        apiextensions-apiserver, ``pkg/apis/apiextensions/v1/types_jsonschema.go`` and
        ``marshal.go``.
    """
    return _decode(raw, path, 0)


def keywords_set(raw: JSON, decoded: Keywords) -> tuple[str, ...]:
    """
    Return the names of the keywords in one node, including empty lists and maps.

    Args:
        raw: The node before decoding.

    Returns:
        The keywords, in the order of the server's struct.
    """
    written = raw if isinstance(raw, dict) else {}
    return tuple(
        keyword for keyword in _KINDS if keyword in decoded or written.get(keyword) in ([], {})
    )


def nodes(keywords: Keywords) -> Iterator[Keywords]:
    """
    Yield a decoded schema and all schemas in it.
    """
    waiting: list[Keywords] = [keywords]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed([inner for _, inner in _inner(node)])


def placed_nodes(keywords: Keywords) -> Iterator[tuple[Keywords, Path]]:
    """
    Yield a decoded schema and all schemas in it, parents first, with their paths.

    Source:
        apiextensions-apiserver, ``pkg/apis/apiextensions/validation/validation.go``,
        ``SchemaHas``.
    """
    waiting: list[tuple[Keywords, Path]] = [(keywords, ())]
    while waiting:
        node, path = waiting.pop()
        yield node, path
        waiting += reversed([(inner, (*path, *below)) for below, inner in _inner(node)])


_NESTING = (
    *("items", "allOf", "anyOf", "oneOf", "not", "properties", "additionalProperties"),
    *("patternProperties", "additionalItems", "definitions", "dependencies"),
)


def _inner(node: Keywords) -> Iterator[tuple[Path, Keywords]]:
    for keyword in _NESTING:
        if keyword not in node:
            continue
        if keyword in _MAPS:
            for name, named in children(node, keyword).items():
                yield (keyword, Key(name)), named
            continue
        single = child(node, keyword)
        if single is not None:
            yield (keyword,), single
        for index, member in enumerate(members(node, keyword)):
            yield (keyword, index), member


_MAPS = frozenset({"properties", "patternProperties", "definitions", "dependencies"})


def children(node: Keywords, keyword: str) -> Mapping[str, dict[str, JSON]]:
    """
    Return the schemas under a keyword by name; none if it is not set.
    """
    named = node.get(keyword)
    if not isinstance(named, dict):
        return {}
    return {name: child for name, child in named.items() if isinstance(child, dict)}


def members(node: Keywords, keyword: str) -> tuple[dict[str, JSON], ...]:
    """
    Return the list of schemas under a keyword; none if it is not set.
    """
    listed = node.get(keyword)
    if not isinstance(listed, list):
        return ()
    return tuple(member for member in listed if isinstance(member, dict))


def child(node: Keywords, keyword: str) -> dict[str, JSON] | None:
    """
    Return the single schema under a keyword; None if it is not set, or has another form.
    """
    found = node.get(keyword)
    return found if isinstance(found, dict) else None


def text(node: Keywords, keyword: str) -> str:
    """
    Return a text; empty if it is not set.
    """
    found = node.get(keyword)
    return found if isinstance(found, str) else ""


def texts(node: Keywords, keyword: str) -> tuple[str, ...]:
    """
    Return a list of texts; empty if it is not set.
    """
    found = node.get(keyword)
    return tuple(item for item in found if isinstance(item, str)) if isinstance(found, list) else ()


# In the order of the server's struct. A pointer (with a star) is set even if it is zero.
_KINDS: Mapping[str, str] = MappingProxyType(
    {
        "id": "text",
        "$schema": "text",
        "$ref": "*text",
        "description": "text",
        "type": "text",
        "nullable": "flag",
        "format": "text",
        "title": "text",
        "default": "any",
        "maximum": "*number",
        "exclusiveMaximum": "flag",
        "minimum": "*number",
        "exclusiveMinimum": "flag",
        "maxLength": "*integer",
        "minLength": "*integer",
        "pattern": "text",
        "maxItems": "*integer",
        "minItems": "*integer",
        "uniqueItems": "flag",
        "multipleOf": "*number",
        "enum": "anys",
        "maxProperties": "*integer",
        "minProperties": "*integer",
        "required": "texts",
        "items": "*schema or schemas",
        "allOf": "schemas",
        "oneOf": "schemas",
        "anyOf": "schemas",
        "not": "*schema",
        "properties": "map",
        "additionalProperties": "*schema or flag",
        "patternProperties": "map",
        "dependencies": "*dependencies",
        "additionalItems": "*schema or flag",
        "definitions": "map",
        "externalDocs": "*object",
        "example": "any",
        "x-kubernetes-preserve-unknown-fields": "*flag",
        "x-kubernetes-embedded-resource": "flag",
        "x-kubernetes-int-or-string": "flag",
        "x-kubernetes-list-map-keys": "texts",
        "x-kubernetes-list-type": "*text",
        "x-kubernetes-map-type": "*text",
        "x-kubernetes-validations": "rules",
    }
)


def _decode(raw: JSON, path: Path, depth: int) -> dict[str, JSON]:
    if depth > MAX_DEPTH:
        raise MalformedDefinitionError(path, f"nests deeper than {MAX_DEPTH} levels")
    if not isinstance(raw, dict):
        raise MalformedDefinitionError(path, "must be an object")
    decoded: dict[str, JSON] = {}
    told_from_none = _COUNTED_IF_EMPTY if depth == 1 and path[-1] == Key("metadata") else ()
    # Few of the keywords are set, but their order must be the server's.
    for keyword in sorted(_KINDS.keys() & raw.keys(), key=_ORDER.__getitem__):
        value, kind = raw[keyword], _KINDS[keyword]
        if value is None:
            continue
        read = _decode_value(value, kind.removeprefix("*"), (*path, keyword), depth + 1)
        counts = kind.startswith("*") or kind == "any" or keyword in told_from_none
        if counts or read not in _UNSET:
            decoded[keyword] = read
    return decoded


_ORDER: Mapping[str, int] = {keyword: index for index, keyword in enumerate(_KINDS)}

KEYWORDS: frozenset[str] = frozenset(_KINDS)
"""All keywords that API servers know."""

_UNSET: tuple[JSON, ...] = ("", False, [], {})

_COUNTED_IF_EMPTY = ("required", "x-kubernetes-list-map-keys", "x-kubernetes-validations")
"""The resource's own metadata must not have these keywords, even if they are empty."""


def _decode_value(value: JSON, kind: str, path: Path, depth: int) -> JSON:
    if kind == "any":
        return copy_json(value)
    if kind in _LISTS:
        return _decode_list(value, kind, path, depth)
    if kind in ("map", "dependencies"):
        return _decode_map(value, kind, path, depth)
    if kind not in _SCHEMAS:
        return _scalar(value, kind, path)
    if kind == "schema or flag" and isinstance(value, bool):
        return value
    if kind == "schema or schemas" and not isinstance(value, dict):
        # Go's decoder ignores a value that is neither a schema nor a list of schemas.
        listed = value if isinstance(value, list) else []
        return _decode_list(listed, "schemas", path, depth)
    return _decode(value, path, depth)


_LISTS = frozenset({"anys", "texts", "rules", "schemas"})
_SCHEMAS = frozenset({"schema", "schema or flag", "schema or schemas"})


def _decode_list(value: JSON, kind: str, path: Path, depth: int) -> JSON:
    if not isinstance(value, list):
        raise MalformedDefinitionError(path, "must be a list")
    decoded: list[JSON] = []
    for index, item in enumerate(value):
        below = (*path, index)
        match kind:
            case "anys":
                decoded.append(copy_json(item))
            case "texts":
                decoded.append(_scalar(item, "text", below))
            case "rules":
                decoded.append(_decode_rule(item, below))
            case _:
                # Go decodes a null within a list to a schema in which nothing is set.
                decoded.append(_decode({} if item is None else item, below, depth))
    return decoded


def _decode_map(value: JSON, kind: str, path: Path, depth: int) -> JSON:
    if not isinstance(value, dict):
        raise MalformedDefinitionError(path, "must be an object")
    decoded: dict[str, JSON] = {}
    for name, item in value.items():
        below = (*path, Key(name))
        if kind == "dependencies" and not isinstance(item, dict):
            # It is a list of names here, which is not checked further.
            decoded[name] = copy_json(item)
        else:
            decoded[name] = _decode({} if item is None else item, below, depth)
    return decoded


_RULE_KINDS = {
    "message": "text",
    "messageExpression": "text",
    "reason": "text",
    "fieldPath": "text",
    "optionalOldSelf": "flag",
}


def _decode_rule(value: JSON, path: Path) -> JSON:
    if not isinstance(value, dict):
        raise MalformedDefinitionError(path, "must be an object")
    decoded: dict[str, JSON] = {"rule": _scalar(value.get("rule") or "", "text", (*path, "rule"))}
    for keyword, kind in _RULE_KINDS.items():
        found = value.get(keyword)
        if found is None:
            continue
        read = _scalar(found, kind, (*path, keyword))
        if read != "" or keyword == "reason":
            decoded[keyword] = read
    return decoded


_SCALARS: Mapping[str, tuple[frozenset[str], str]] = MappingProxyType(
    {
        "text": (frozenset({"string"}), "must be a string"),
        "flag": (frozenset({"boolean"}), "must be true or false"),
        "number": (frozenset({"integer", "number"}), "must be a number"),
        "integer": (frozenset({"integer", "number"}), "must be an integer"),
        "object": (frozenset({"object"}), "must be an object"),
    }
)


def _scalar(value: JSON, kind: str, path: Path) -> JSON:
    types, problem = _SCALARS[kind]
    if type_of(value) not in types:
        raise MalformedDefinitionError(path, problem)
    if kind == "number" and isinstance(value, int):
        return float(value)
    return _integer(value, path, problem) if kind == "integer" else value


_INT64 = range(-(1 << 63), 1 << 63)


def _integer(value: JSON, path: Path, problem: str) -> int:
    # Clients write 1.0 as 1.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int):
        raise MalformedDefinitionError(path, problem)
    if value not in _INT64:
        raise MalformedDefinitionError(path, "must be an integer of 64 bits")
    return value
