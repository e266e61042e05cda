"""
Fields with a schema each, and values that violate it in one way.
"""

from collections.abc import Iterator, Mapping
from random import Random
from typing import Any, NamedTuple

from tests.e2e.crds import Document, schema

INT_OR_STRING: Document = {"x-kubernetes-int-or-string": True}
TEXT: Document = {"type": "string"}
NUMBER: Document = {"type": "number"}
ITEMS: Document = {
    "type": "object",
    "required": ["k"],
    "properties": {"k": TEXT, "n": {"type": "integer", "default": 1}, "v": TEXT},
}


class Field(NamedTuple):
    """
    A field of ``spec``.

    Attributes:
        about: The keyword, format or list type that the values violate.
        values: At least three invalid values.
    """

    about: str
    schema: Document
    values: tuple[Any, ...]


def _list(list_type: str, items: Document, *keys: str) -> Document:
    made = {"type": "array", "items": items, "x-kubernetes-list-type": list_type}
    return made | ({"x-kubernetes-list-map-keys": [*keys]} if keys else {})


def _of(**keywords: Any) -> Document:
    return {"type": "object", "properties": {"a": TEXT, "b": {"type": "integer"}}, **keywords}


_MAP = {"type": "object", "additionalProperties": {"type": "string", "maxLength": 3}}
_EMBEDDED = {
    "type": "object",
    "x-kubernetes-embedded-resource": True,
    "x-kubernetes-preserve-unknown-fields": True,
}
_POD = {"apiVersion": "v1", "kind": "Pod"}

KEYWORDS: Mapping[str, Field] = {
    "text": Field("type", TEXT, (1, 1.5, True, ["x"], {"a": "b"})),
    "whole": Field("type", {"type": "integer"}, (1.5, "1", 2**60 * 16.0)),
    "decimal": Field("type", NUMBER, ("1", False, [])),
    "flag": Field("type", {"type": "boolean"}, (0, "true", {})),
    "list": Field("type", {"type": "array", "items": TEXT}, ({"a": 1}, "x", [None], [1])),
    "object": Field("type", _of(), ([], "x", {"a": 1}, {"b": "\u20ac"})),
    "mixed": Field("int-or-string", INT_OR_STRING, (1.5, True, [], {"a": 1})),
    "short": Field("maxLength", TEXT | {"maxLength": 3}, ("abcd", "\u20ac" * 4, "a" * 300)),
    "one": Field("maxLength", TEXT | {"maxLength": 1}, ("ab", 'a"', "<>")),
    "long": Field("minLength", TEXT | {"minLength": 3}, ("", "ab", "\u20ac\u20ac")),
    "lower": Field("pattern", TEXT | {"pattern": "^[a-z]+$"}, ("A", "", "a\n", "\u00df")),
    "least": Field("minimum", NUMBER | {"minimum": 2.5}, (1, 2.25, -1e30)),
    "above": Field(
        "exclusiveMinimum",
        {"type": "integer", "minimum": 3, "exclusiveMinimum": True},
        (3, 2, -(2**62)),
    ),
    "most": Field("maximum", NUMBER | {"maximum": 2.5}, (3, 2.75, 1e21)),
    "below": Field(
        "exclusiveMaximum",
        {"type": "integer", "maximum": 3, "exclusiveMaximum": True},
        (3, 4, 2**62),
    ),
    "step": Field("multipleOf", {"type": "integer", "multipleOf": 4}, (3, 1, -2, 0.5)),
    "fraction": Field("multipleOf", NUMBER | {"multipleOf": 0.5}, (0.25, 1, 7.3)),
    "choice": Field("enum", TEXT | {"enum": ["a", "b\n", '"']}, ("", "c", "A")),
    "numbers": Field("enum", {"type": "integer", "enum": [1, 2]}, (3, 0, -7)),
    "shapes": Field("enum", _of(enum=[{"a": "x"}, {}]), ({"a": "y"}, {"b": 1}, {"a": "x", "b": 2})),
    "few": Field(
        "maxItems", {"type": "array", "items": TEXT, "maxItems": 1}, (["a"] * 2, [""] * 9)
    ),
    "none": Field("maxItems", {"type": "array", "items": TEXT, "maxItems": 0}, (["a"], ["b", "c"])),
    "many": Field("minItems", {"type": "array", "items": TEXT, "minItems": 2}, ([], ["a"], ["b"])),
    "slim": Field("maxProperties", _MAP | {"maxProperties": 1}, ({"a": "", "b": ""},) * 3),
    "fat": Field("minProperties", _MAP | {"minProperties": 2}, ({}, {"a": ""}, {"b": "x"})),
    "needy": Field("required", _of(required=["a", "b"]), ({}, {"a": ""}, {"b": 1})),
    "values": Field("additionalProperties", _MAP, ({"a.b": "abcd"}, {"": 1}, {"x[0]": []})),
    "empty": Field(
        "additionalProperties",
        {"type": "object", "additionalProperties": False},
        ({"a": 1}, {"b": None, "c": {}}, {"": ""}),
    ),
    "any": Field(
        "anyOf",
        _of(anyOf=[{"required": ["a"]}, {"properties": {"b": {"minimum": 3}}}]),
        ({"b": 1}, {"b": 2}, {"b": -5}),
    ),
    "exactly": Field(
        "oneOf",
        _of(oneOf=[{"required": ["a"]}, {"required": ["b"]}]),
        ({}, {"a": "", "b": 1}, {"a": 1, "b": ""}),
    ),
    "all": Field(
        "allOf",
        _of(allOf=[{"required": ["a"]}, {"properties": {"b": {"maximum": 3}}}]),
        ({}, {"b": 4}, {"a": "", "b": 4}),
    ),
    "never": Field("not", _of(**{"not": {"required": ["a"]}}), ({"a": ""}, {"a": "x"}, {"a": 1})),
    "set": Field("set", _list("set", TEXT), (["a", "a"], ["", "b", "", ""], ["x", "y", "y", "x"])),
    "sets": Field("set", _list("set", NUMBER), ([1, 1], [1.5, 2, 1.5], [0, 0, 0])),
    "map": Field(
        "map",
        _list("map", ITEMS, "k"),
        ([{"k": "a"}] * 2, [{"k": ""}, {"k": "b"}, {"k": ""}], [5]),
    ),
    "maps": Field(
        "map",
        _list("map", ITEMS, "k", "n"),
        ([{"k": "a"}, {"k": "a", "n": 1}], [{"k": "a", "n": 2}] * 3, [{}, {}]),
    ),
    "atoms": Field("atomic", _list("atomic", TEXT), ([1], [None], [["x"]])),
    "kept": Field(
        "preserve-unknown-fields",
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "required": ["z"]},
        ({}, {"unknown": 1}, {"a": {"z": 1}}),
    ),
    "ruled": Field(
        "x-kubernetes-validations",
        {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 5"}]},
        (1, 5, -3),
    ),
    "told": Field(
        "x-kubernetes-validations",
        TEXT
        | {
            "x-kubernetes-validations": [
                {
                    "rule": "self.startsWith('a')",
                    "messageExpression": "'not ' + self",
                    "reason": "FieldValueForbidden",
                }
            ]
        },
        ("b", "", "\u20ac"),
    ),
    "ordered": Field(
        "x-kubernetes-validations",
        {
            "type": "object",
            "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}},
            "x-kubernetes-validations": [
                {"rule": "self.x < self.y", "fieldPath": ".x", "message": "too large"},
                {"rule": "!has(oldSelf.x) || self.x >= oldSelf.x", "message": "must not shrink"},
            ],
        },
        ({"x": 2, "y": 1}, {"x": 0, "y": 0}, {"x": 1}),
    ),
    "resource": Field(
        "embedded",
        _EMBEDDED,
        (
            {},
            {"apiVersion": "a/b/c", "kind": "no kind"},
            {"apiVersion": "", "kind": ""},
            _POD | {"metadata": {"name": "a/b", "namespace": "UPPER", "generateName": "%"}},
            _POD | {"metadata": {"labels": {"-": "-"}, "annotations": {"": ""}}},
            _POD | {"metadata": {"generation": -1, "finalizers": ["a b"]}},
            _POD | {"metadata": {"ownerReferences": [{"kind": "K", "controller": True}]}},
            _POD | {"metadata": {"managedFields": [{"operation": "Do", "fieldsType": "F"}]}},
        ),
    ),
}

_WRONG = ("", "~no~ such~", "\u00e9\t1")

FORMATS: Mapping[str, tuple[str, ...]] = {
    "bsonobjectid": ("5f43a1c8e4b0a1a2b3c4d5e",),
    "uri": ("relative/path", "http://[::1", "http://a b/"),
    "email": ("a@", "a@b@c", "@x"),
    "hostname": ("-a.b", "a_b", "a" * 64),
    "ipv4": ("1.2.3", "1.2.3.256", "::1"),
    "ipv6": ("1.2.3.4", "::g", "1::2::3"),
    "cidr": ("10.0.0.0", "10.0.0.0/33", "::/129"),
    "mac": ("00:00:5e:00:53", "00-00-5e:00:53:01", "0:0:0:0:0:0"),
    "uuid": ("a8098c1a-f86e-11da-bd1a-00112444be1",),
    "uuid3": ("a8098c1a-f86e-41da-bd1a-00112444be1e",),
    "uuid4": ("a8098c1a-f86e-11da-bd1a-00112444be1e",),
    "uuid5": ("a8098c1a-f86e-11da-bd1a-00112444be1e",),
    "isbn": ("0-306-40615-3", "978-0-306-40615-8"),
    "isbn10": ("0-306-40615-3",),
    "isbn13": ("978-0-306-40615-8",),
    "creditcard": ("4111111111111112",),
    "ssn": ("123456789", "123-45-678"),
    "hexcolor": ("#ff", "#gggggg"),
    "rgbcolor": ("rgb(256,0,0)", "rgb(1,2)"),
    "byte": ("a", "YQ=", "YQ==="),
    "date": ("2021-02-29", "2021-1-1"),
    "date-time": ("2021-01-01", "2021-01-01T24:00:00Z", "2021-01-01T00:00:00"),
    "duration": ("1", "h", "1 fortnight"),
    "k8s-short-name": ("A", "a.b", "a" * 64),
    "k8s-long-name": ("A.b", "a..b", "a" * 254),
}
"""Texts that are of no format, beside those that are of none."""

NUMERIC: Mapping[str, Field] = {
    "int32": Field("int32", {"type": "integer", "format": "int32"}, (2**31, -(2**40), "x")),
    "int64": Field("int64", {"type": "integer", "format": "int64"}, (2**63 * 1.0, 1.5, "x")),
    "float": Field("float", NUMBER | {"format": "float"}, (1e39, -3.5e38, "x")),
    "double": Field("double", NUMBER | {"format": "double"}, ("x", True, [])),
}


def fields() -> dict[str, Field]:
    """
    Return all fields of ``spec``.
    """
    formats = {
        f"format{index}": Field(name, TEXT | {"format": name}, (*wrong, *_WRONG))
        for index, (name, wrong) in enumerate(FORMATS.items())
    }
    password = Field("password", TEXT | {"format": "password"}, (1, True, {}))
    return {**KEYWORDS, **formats, **NUMERIC, "password": password}


def openapi() -> Document:
    """
    Return the schema of all fields and of the replicas.
    """
    replicas = {"type": "object", "properties": {"replicas": {"type": "integer"}}}
    spec = {name: field.schema for name, field in fields().items()}
    return schema({**spec, "scale": replicas}, status=replicas)


def specs(count: int, seed: int) -> Iterator[Document]:
    """
    Yield invalid specs: first each value of each field alone, then several values together.
    """
    for name, field in fields().items():
        for value in field.values:
            yield {name: value}
    random = Random(seed)  # noqa: S311 - no secret
    names = sorted(fields())
    for _ in range(count):
        chosen = random.sample(names, random.randint(2, 5))
        yield {name: random.choice(fields()[name].values) for name in chosen}
