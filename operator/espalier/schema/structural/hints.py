"""
Short hints how to fix a finding of the structural check.

The API server's messages state the rule; a hint states what to write. Conditions have no hints.
"""

from collections.abc import Callable

from espalier.findings import FieldError
from espalier.paths import JSON, Path

_JUNCTORS = frozenset({"allOf", "anyOf", "oneOf", "not"})
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED = "x-kubernetes-embedded-resource"


def fix_hint(error: FieldError, root: JSON, *, path: Path = ()) -> str:
    """
    Return a hint how to fix a finding of ``check_structural``.

    Args:
        root: The decoded ``openAPIV3Schema`` that has the finding; never changed.
        path: The path that was passed to ``check_structural``.

    Returns:
        A short text without a full stop.
    """
    below = error.path[len(path) :]
    keyword = str(below[-1]) if below else ""
    if error.detail.startswith("because it is defined in"):
        return _declare(keyword)
    advice = _by_keyword(keyword)
    if not _JUNCTORS.isdisjoint(below[:-1]) and keyword not in ("pattern", "metadata"):
        return _outside_junctor(keyword, error)
    return advice(below, root, error)


def _declare(keyword: str) -> str:
    if keyword == "items":
        return "declare `items` outside of the junctor as well"
    return f"declare `{keyword}` under `properties` outside of the junctor as well"


def _outside_junctor(keyword: str, error: FieldError) -> str:
    if error.detail == "must be non-empty":
        return "declare this field outside of the junctor, with a type"
    return f"move `{keyword}` out of the junctor, to the field's own schema"


_Advice = Callable[[Path, JSON, FieldError], str]


def _by_keyword(keyword: str) -> _Advice:
    return _ADVICE.get(keyword, _plain)


def _plain(below: Path, root: JSON, error: FieldError) -> str:
    _ = root, error
    return f"remove `{below[-1]}` here" if below else "correct the schema"


def _type(below: Path, root: JSON, error: FieldError) -> str:
    if "must be object" in error.detail:
        return "write `type: object` here"
    if "must be string" in error.detail:
        return "write `type: string` here"
    node = _node_at(root, below[:-1])
    guess = _guessed_type(node, at_root=len(below) == 1)
    if guess:
        return f"add `type: {guess}` here"
    return f"add a `type` here, or `{_PRESERVE}: true` if any value is allowed"


def _guessed_type(node: JSON, *, at_root: bool) -> str:
    if at_root:
        return "object"
    if not isinstance(node, dict):
        return ""
    for type_, keywords in (
        ("object", ("properties", "additionalProperties", "required", "maxProperties")),
        ("array", ("items", "maxItems", "minItems", "uniqueItems")),
        ("string", ("pattern", "maxLength", "minLength")),
        ("number", ("maximum", "minimum", "multipleOf")),
    ):
        if any(keyword in node for keyword in keywords):
            return type_
    return ""


def _items(below: Path, root: JSON, error: FieldError) -> str:
    _ = below, root, error
    return "add `items` with the schema of the list's items"


def _properties(below: Path, root: JSON, error: FieldError) -> str:
    _ = below, root, error
    return f"add `properties`, or `{_PRESERVE}: true`"


def _additional(below: Path, root: JSON, error: FieldError) -> str:
    _ = root, error
    if len(below) == 1:
        return "declare the fields under `properties` instead"
    return f"remove it, or remove `{_EMBEDDED}`: an embedded resource is not a map"


def _metadata(below: Path, root: JSON, error: FieldError) -> str:
    _ = below, root
    if "nested context" in error.detail or "junctor" in error.detail:
        return "remove `metadata` from the junctor"
    return "keep only `type: object`, and `properties` for name and generateName"


def _pattern(below: Path, root: JSON, error: FieldError) -> str:
    _ = below, root, error
    return "write it for RE2: no lookaround, no backreferences, all brackets closed"


def _with_int_or_string(below: Path, root: JSON, error: FieldError) -> str:
    _ = root, error
    return f"remove `{below[-1]}` or `x-kubernetes-int-or-string`: they exclude each other"


_ADVICE: dict[str, _Advice] = {
    "type": _type,
    "items": _items,
    "properties": _properties,
    "additionalProperties": _additional,
    "metadata": _metadata,
    "pattern": _pattern,
    _PRESERVE: _with_int_or_string,
    _EMBEDDED: _with_int_or_string,
}


def _node_at(root: JSON, below: Path) -> JSON:
    node = root
    for step in below:
        match node:
            case dict():
                node = node.get(str(step))
            case list() if isinstance(step, int) and step < len(node):
                node = node[step]
            case _:
                return None
    return node
