"""
Each kind of change of a schema, and what it means for stored objects.
"""

from typing import Any

import pytest

from espalier.crd.changes.change import KINDS
from espalier.crd.changes.schemas import schema_changes
from espalier.paths import render_path
from espalier.schema import Profile, Structural, parse

Node = dict[str, Any]

TEXT: Node = {"type": "string"}
NUMBER: Node = {"type": "number"}
OBJECT: Node = {"type": "object"}
OPEN: Node = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
MIXED: Node = {"x-kubernetes-int-or-string": True}
ITEM: Node = {"type": "object", "required": ["k"], "properties": {"k": TEXT, "n": TEXT}}
LIST: Node = {"type": "array", "items": ITEM}
KEYED: Node = {**LIST, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
EMBEDDED: Node = {**OPEN, "x-kubernetes-embedded-resource": True}
EVEN: Node = {**NUMBER, "multipleOf": 2}
ABOVE: Node = {**NUMBER, "minimum": 5, "exclusiveMinimum": True}
CHOICE: Node = {**TEXT, "enum": ["x", "y"]}


def of(*required: str, **properties: Node) -> Node:
    return {"type": "object", "required": [*required], "properties": properties}


def ruled(rule: str) -> Node:
    return {**TEXT, "x-kubernetes-validations": [{"rule": rule}]}


def read(written: Node) -> Structural:
    structural = parse(written, profile=Profile.APISERVER)
    assert structural is not None
    return structural


def changes(old: Node, new: Node) -> list[str]:
    found = schema_changes(read(of(a=old)), read(of(a=new)), (), "v1")
    return [f"{one.kind} {render_path(one.path[2:])}: {one.detail}" for one in found]


CASES: list[tuple[Node, Node, list[str]]] = [
    (TEXT, TEXT, []),
    (TEXT, NUMBER, ["type-changed type: type changed from string to number"]),
    (MIXED, TEXT, ["type-changed type: type changed from int-or-string to string"]),
    (NUMBER, {"type": "integer"}, ["type-changed type: type changed from number to integer"]),
    ({"type": "integer"}, NUMBER, ["type-widened type: type widened from integer to number"]),
    ({**TEXT, "nullable": True}, TEXT, ["nullable-removed nullable: is not nullable any more"]),
    (TEXT, {**TEXT, "nullable": True}, ["nullable-added nullable: is nullable now"]),
    (
        {**NUMBER, "maximum": 5},
        {**NUMBER, "maximum": 3},
        ["bound-narrowed maximum: maximum changed from 5 to 3"],
    ),
    (
        {**NUMBER, "maximum": 5},
        {**NUMBER, "maximum": 5, "exclusiveMaximum": True},
        ["bound-narrowed maximum: maximum changed from 5 to 5 (exclusive)"],
    ),
    (
        ABOVE,
        {**NUMBER, "minimum": 5},
        ["bound-widened minimum: minimum changed from 5 (exclusive) to 5"],
    ),
    (NUMBER, {**NUMBER, "minimum": 0}, ["bound-narrowed minimum: minimum 0 added"]),
    (TEXT, {**TEXT, "minLength": 1}, ["bound-narrowed minLength: minLength 1 added"]),
    ({**TEXT, "maxLength": 1}, TEXT, ["bound-widened maxLength: maxLength 1 removed"]),
    (
        {**NUMBER, "multipleOf": 4},
        EVEN,
        ["bound-widened multipleOf: multipleOf changed from 4 to 2"],
    ),
    (
        EVEN,
        {**NUMBER, "multipleOf": 4},
        ["bound-narrowed multipleOf: multipleOf changed from 2 to 4"],
    ),
    (TEXT, {**TEXT, "pattern": "^a"}, ["pattern-changed pattern: pattern ^a added"]),
    ({**TEXT, "pattern": "^a"}, TEXT, ["pattern-removed pattern: pattern ^a removed"]),
    (TEXT, {**TEXT, "format": "date"}, ["format-changed format: format date added"]),
    ({**TEXT, "format": "date"}, TEXT, ["format-removed format: format date removed"]),
    (TEXT, CHOICE, ['enum-added enum: enum "x", "y" added']),
    (CHOICE, TEXT, ["enum-removed enum: enum removed"]),
    (
        CHOICE,
        {**TEXT, "enum": ["y", "z"]},
        ['enum-value-removed enum: enum lost "x"', 'enum-value-added enum: enum got "z"'],
    ),
    (OBJECT, {**OBJECT, "allOf": [{"minProperties": 1}]}, ["junctor-changed allOf: allOf added"]),
    (
        {**OBJECT, "anyOf": [{"minProperties": 1}]},
        {**OBJECT, "anyOf": [{"minProperties": 1}, {"maxProperties": 9}]},
        ["junctor-removed anyOf: anyOf accepts more"],
    ),
    (
        {**OBJECT, "not": {"minProperties": 1}},
        {**OBJECT, "not": {"minProperties": 2}},
        ["junctor-changed not: not changed"],
    ),
    ({**MIXED, "anyOf": [{"type": "integer"}, {"type": "string"}]}, MIXED, []),
    (
        LIST,
        KEYED,
        ["list-type-changed x-kubernetes-list-type: list type changed from atomic to map"],
    ),
    (
        KEYED,
        {**KEYED, "x-kubernetes-list-map-keys": ["k", "n"]},
        ["list-keys-changed x-kubernetes-list-map-keys: list map keys changed from k to k, n"],
    ),
    (
        OBJECT,
        {**OBJECT, "x-kubernetes-map-type": "atomic"},
        ["map-type-changed x-kubernetes-map-type: map type changed from granular to atomic"],
    ),
    (
        ruled("self != 'a'"),
        ruled("self != 'b'"),
        [
            "rule-added x-kubernetes-validations: rule added: self != 'b'",
            "rule-removed x-kubernetes-validations: rule removed: self != 'a'",
        ],
    ),
    (
        OPEN,
        EMBEDDED,
        [
            (
                "embedded-resource-added x-kubernetes-embedded-resource: is an embedded resource"
                " now: apiVersion, kind and metadata are checked"
            )
        ],
    ),
    (EMBEDDED, OPEN, ["embedded-resource-removed <nil>: is no embedded resource any more"]),
    (
        TEXT,
        {**TEXT, "description": "x"},
        ["description-changed description: description changed"],
    ),
    (of(b=TEXT), of("b", b=TEXT), ["required-added required: b is required now"]),
    (of("b", b=TEXT), of(b=TEXT), ["required-removed <nil>: b is not required any more"]),
    (
        of(b={**TEXT, "default": "x"}),
        of("b", b={**TEXT, "default": "x"}),
        ["required-defaulted required: b is required now, and has a default"],
    ),
    (
        of("b", b={**TEXT, "default": "x"}),
        of("b", b=TEXT),
        [
            "required-added required: b is required, and has no default any more",
            'default-removed properties[b]: default "x" removed',
        ],
    ),
    (TEXT, {**TEXT, "default": "x"}, ['default-added default: default "x" added']),
    (
        {**TEXT, "default": "x"},
        {**TEXT, "default": "y"},
        ['default-changed default: default changed from "x" to "y"'],
    ),
    (of(b=TEXT), of(), ["field-removed properties[b]: b removed"]),
    (of(), of(b=TEXT), []),
    (
        of(b=TEXT),
        OPEN,
        [
            "field-opened <nil>: unknown fields are preserved now",
            "field-opened properties[b]: b has no schema any more, and takes any value",
        ],
    ),
    (OPEN, OBJECT, ["pruning-enabled <nil>: unknown fields are not preserved any more"]),
    (
        OPEN,
        {**OPEN, "properties": {"b": TEXT}},
        ["field-specified properties[b]: b has a schema now, and took any value before"],
    ),
    (
        {**OBJECT, "additionalProperties": NUMBER},
        {**OBJECT, "additionalProperties": {**NUMBER, "minimum": 1}},
        ["bound-narrowed additionalProperties.minimum: minimum 1 added"],
    ),
    (
        {**OBJECT, "additionalProperties": TEXT},
        of(b=NUMBER),
        [
            "type-changed properties[b].type: type changed from string to number",
            "field-removed additionalProperties: the values removed",
        ],
    ),
]


@pytest.mark.parametrize(("old", "new", "expected"), CASES, ids=lambda one: str(one)[:60])
def test_a_change_is_named(old: Node, new: Node, expected: list[str]) -> None:
    assert changes(old, new) == expected


def test_every_kind_is_tested() -> None:
    tested = {found.split(" ")[0] for _, _, expected in CASES for found in expected}
    of_definitions = {"storage-version-changed", "subresource-added", "subresource-removed"}
    of_definitions |= {"version-not-served", "version-removed"}

    assert tested | of_definitions == {*KINDS}


@pytest.mark.parametrize(
    ("old", "new", "effect"),
    [
        (of(a=TEXT), of("a", a=TEXT), "at every write: the root is never"),
        (of(a=TEXT), of(a={**TEXT, "maxLength": 1}), "an unchanged value is tolerated"),
        (
            of(a={"type": "array", "items": TEXT}),
            of(a={"type": "array", "items": {**TEXT, "maxLength": 1}}),
            "an unchanged list is tolerated",
        ),
        (
            of(a=KEYED),
            of(a={**KEYED, "items": {**ITEM, "required": ["k", "n"]}}),
            "an unchanged value is tolerated",
        ),
        (of(a=TEXT), of(), "lost from stored objects at their next write"),
    ],
)
def test_the_effect_is_what_servers_tolerate(old: Node, new: Node, effect: str) -> None:
    [change] = schema_changes(read(old), read(new), (), "v1")

    assert effect in change.effect
