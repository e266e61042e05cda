"""
Make broken schemas structural, so that enough questions are about structural schemas.
"""

from espalier.paths import JSON
from tests.differential.worsening import Node, children

GOOD_PATTERNS = ("^a+$", "[a-z]{1,3}", "(?P<n>x)", "a|b")
_ALLOWED_IN_JUNCTORS = frozenset(
    {
        *("properties", "items", "allOf", "anyOf", "oneOf", "not", "format", "pattern", "enum"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "required"),
        *("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
    }
)
_UNREADABLE = (
    *("id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems"),
    *("definitions", "uniqueItems"),
)
_TYPE_METAS: tuple[tuple[str, Node], ...] = (
    ("kind", {"type": "string"}),
    ("apiVersion", {"type": "string"}),
    ("metadata", {"type": "object"}),
)


def mend(root: Node) -> None:
    """
    Return a schema without the faults that keep it from being structural.
    """
    root["type"] = "object"
    for keyword in ("additionalProperties", "nullable", "default", "x-kubernetes-int-or-string"):
        root.pop(keyword, None)
    waiting = [(root, True)]
    while waiting:
        node, is_root = waiting.pop()
        _mend_keywords(node, is_root=is_root)
        _mend_type(node)
        if is_root or node.get("x-kubernetes-embedded-resource"):
            _mend_type_metas(node)
        waiting += [(child, False) for child in children(node)]


def _mend_type(node: Node) -> None:
    if node.get("x-kubernetes-preserve-unknown-fields") is False:
        del node["x-kubernetes-preserve-unknown-fields"]
    if node.get("x-kubernetes-int-or-string"):
        for keyword in ("type", "x-kubernetes-preserve-unknown-fields"):
            node.pop(keyword, None)
        node.pop("x-kubernetes-embedded-resource", None)
    elif node.get("x-kubernetes-embedded-resource"):
        node["type"] = "object"
        node.pop("additionalProperties", None)
        if not node.get("properties"):
            node["x-kubernetes-preserve-unknown-fields"] = True
    elif not node.get("type") and not node.get("x-kubernetes-preserve-unknown-fields"):
        node["type"] = "object" if node.get("properties") else "string"
    if node.get("type") == "array":
        node.setdefault("items", {"type": "string"})


def _mend_keywords(node: Node, *, is_root: bool) -> None:
    for keyword in _UNREADABLE:
        node.pop(keyword, None)
    if isinstance(node.get("items"), list):
        del node["items"]
    if node.get("pattern") not in GOOD_PATTERNS:
        node.pop("pattern", None)
    if node.get("properties") and node.get("additionalProperties") is not True:
        node.pop("additionalProperties", None)
    for keyword in ("allOf", "anyOf", "oneOf"):
        members = node.get(keyword)
        if isinstance(members, list):
            node[keyword] = [_mended_member(member, is_root=is_root) for member in members]
    if "not" in node:
        node["not"] = _mended_member(node["not"], is_root=is_root)


def _mended_member(member: JSON, *, is_root: bool) -> JSON:
    if not isinstance(member, dict):
        return member
    mended = {key: value for key, value in member.items() if key in _ALLOWED_IN_JUNCTORS}
    if is_root:
        mended.pop("items", None)
        mended.pop("properties", None)
    properties = mended.get("properties")
    if isinstance(properties, dict):
        mended["properties"] = {
            name: _mended_member(value, is_root=False)
            for name, value in properties.items()
            if name != "metadata"
        }
    if "items" in mended:
        mended["items"] = _mended_member(mended["items"], is_root=False)
    _mend_keywords(mended, is_root=is_root)
    return mended


def _mend_type_metas(node: Node) -> None:
    properties = node.get("properties")
    if isinstance(properties, dict):
        for name, schema in _TYPE_METAS:
            if name in properties:
                properties[name] = {**schema}
