"""
Random manifests of new objects, as texts: valid, broken, with odd metadata and odd status.
"""

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, NamedTuple

from tests.e2e.crds import GROUP, Document, version
from tests.e2e.refusals import fields, openapi

# Texts of YAML 1.1 scalars, as they stand without quotes.
SCALARS = (
    "yes", "off", "y", "~", "null", "010", "0o10", "0x1F", "0b11", "1_000", "1e3", ".5", "5.",
    "-0.0", "2020-01-01", "12:30:45", "1e999", "=", "1.0", "9223372036854775808", "!!str 1", '"1"',
    "'no'",
    "on", "True", "+5", "1.5", "-1", "abc",
)  # fmt: skip
NAMES = (
    "a", "a.b-c", "UPPER", "-a", "a_b", "", "a" * 254, "a..b", None, "ä", "a/b", "..", "x y",
)  # fmt: skip
METADATA: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("labels", ({"a": "b"}, {"-": "-"}, {"a": "a b"}, None, {}, {"a": None}, {"a": 1}, [])),
    ("labels", ({"a/b/c": ""}, {"a": "x" * 64}, {"": ""})),
    ("annotations", ({"a b": ""}, {"A": "x"}, {"a": True}, None, {"": "x"})),
    ("finalizers", (["a b"], ["orphan", "foregroundDeletion"], ["x.io/y"], [], [1], "x", None)),
    ("ownerReferences", ([{}], [{"apiVersion": "v1", "kind": "Event", "name": "e"}], None, [1])),
    ("creationTimestamp", (None, "2020-01-01T00:00:00Z", "yesterday", 1)),
    ("deletionTimestamp", (None, "2020-01-01T00:00:00Z", "2020-01-01")),
    ("deletionGracePeriodSeconds", (5, "5", -1)),
    ("generation", (-1, 7, "x", 1.5)),
    ("uid", ("u", "", 7)),
    ("selfLink", ("/x", 1)),
    ("generateName", ("a-", "A-", "", "b" * 100, "-", "a_")),
    ("managedFields", ([], [{"operation": "Do"}], [{"manager": "m", "operation": "Update"}], "x")),
    ("unknown", (1, None, {"a": 1})),
    ("namespace", ("default", "", None)),
)  # fmt: skip
VALID: Document = {
    "text": "x", "whole": 3, "decimal": 1.5, "flag": True, "list": ["a", "a"], "object": {"a": "x"},
    "mixed": "25%", "short": "abc", "lower": "a", "least": 2.5, "step": 8, "choice": "b\n",
    "few": ["a"], "values": {"a.b": "abc"}, "any": {"a": ""}, "exactly": {"a": ""},
    "set": ["a", "b"], "map": [{"k": "a"}, {"k": "b", "v": "x"}], "kept": {"z": 1, "more": [1]},
    "ruled": 6, "told": "ab", "ordered": {"x": 1, "y": 2}, "slim": None, "flags": {},
}  # fmt: skip
STATUS: tuple[Any, ...] = (
    {}, None, {"replicas": 1}, {"replicas": "x"}, {"replicas": -1}, {"more": 1}, [], "x",
    {"": None},
)  # fmt: skip


class Kind(NamedTuple):
    """
    A definition that the objects are of.

    Attributes:
        served: Its versions, and whether they are served.
    """

    plural: str
    scope: str
    schema: Document
    subresources: Document | None
    served: tuple[tuple[str, bool], ...] = (("v1", True),)

    @property
    def versions(self) -> list[Document]:
        more = {} if self.subresources is None else {"subresources": self.subresources}
        return [
            version(name, self.schema, **more) | {"served": served} for name, served in self.served
        ]


class Creation(NamedTuple):
    """
    One manifest.

    Attributes:
        content_type: ``application/json`` or ``application/yaml``.
    """

    kind: Kind
    version: str
    namespace: str
    text: str
    content_type: str


def _needing_status() -> Document:
    made = openapi()
    return {**made, "required": ["status"], "properties": {**made["properties"]}}


def _defaulting() -> Document:
    made = openapi()
    status = {**made["properties"]["status"], "required": ["phase"]}
    status["properties"] = {**status["properties"], "phase": {"type": "string", "default": "New"}}
    properties = {**made["properties"], "status": {**status, "default": {"phase": "New"}}}
    return {**made, "properties": properties, "required": ["spec"]}


STATUS_AND_SCALE: Document = {
    "status": {},
    "scale": {
        "specReplicasPath": ".spec.scale.replicas",
        "statusReplicasPath": ".status.replicas",
    },
}

KINDS = (
    Kind("ashes", "Namespaced", openapi(), STATUS_AND_SCALE),
    Kind("beeches", "Cluster", openapi(), {"status": {}}),
    Kind("cedars", "Namespaced", openapi(), None),
    Kind("elms", "Namespaced", _needing_status(), {"status": {}}),
    Kind("firs", "Cluster", _needing_status(), None),
    Kind("hazels", "Namespaced", _defaulting(), {"status": {}}),
    Kind("oaks", "Namespaced", openapi(), {"status": {}}, (("v1", True), ("v2", False))),
)


def creations(count: int, seed: int) -> Iterator[Creation]:
    """
    Yield manifests; the same for the same seed.
    """
    random = Random(seed)  # noqa: S311 - no secret
    for _ in range(count):
        yield _Writer(random).creation()


class _Twice(NamedTuple):
    # A member that is written twice; JSON and YAML texts can, a dictionary cannot.
    first: Any
    last: Any


class _Plain(NamedTuple):
    # A scalar without quotes.
    text: str


class _Writer:
    """
    Write one manifest.
    """

    def __init__(self, random: Random) -> None:
        self._random = random

    def creation(self) -> Creation:
        random = self._random
        kind = random.choice(KINDS)
        name = "v1" if random.random() < 0.8 else random.choice([kind.served[-1][0], "v7"])
        is_yaml = random.random() < 0.6
        body: Document = {"apiVersion": f"{GROUP}/{name}", "kind": kind.plural.title()}
        metadata = self._metadata()
        if metadata is not None:
            body["metadata"] = metadata
        if random.random() < 0.9:
            body["spec"] = self._spec(is_yaml=is_yaml)
        if random.random() < 0.5:
            body["status"] = random.choice(STATUS)
        if random.random() < 0.1:
            body["unknown"] = random.choice((1, None, {"a": [1]}))
        if random.random() < 0.1 and "spec" in body:
            body["spec"] = _Twice(random.choice((1, {}, {"text": "x"})), body["spec"])
        given = metadata.get("namespace") if isinstance(metadata, dict) else None
        write = _yaml if is_yaml else _json
        return Creation(
            kind,
            name,
            given if isinstance(given, str) and given else "default",
            write(body),
            "application/yaml" if is_yaml else "application/json",
        )

    def _metadata(self) -> Any:
        random = self._random
        if random.random() < 0.03:
            return random.choice((None, {}, [], "x"))
        name = "a" if random.random() < 0.8 else random.choice(NAMES)
        made: Document = {} if name is None else {"name": name}
        for _ in range(random.choice((0, 0, 0, 0, 1, 2))):
            member, values = random.choice(METADATA)
            made[member] = random.choice(values)
        if random.random() < 0.1:
            made["labels"] = {"a": _Twice("x", "y")}
        return made

    def _spec(self, *, is_yaml: bool) -> Any:
        random, known = self._random, fields()
        if random.random() < 0.03:
            return random.choice((None, [], "x", 1))
        spec: Document = {}
        for name in random.sample(sorted(VALID), random.randint(0, 6)):
            spec[name] = VALID[name]
        for name in random.sample(sorted(known), random.choice((0, 0, 0, 0, 1, 2))):
            spec[name] = random.choice(known[name].values)
        if is_yaml and random.random() < 0.3:
            for name in random.sample(("text", "whole", "decimal", "flag", "mixed", "any"), 2):
                spec[name] = _Plain(random.choice(SCALARS))
        if random.random() < 0.15:
            spec[random.choice(("unknown", "a.b", "x y"))] = random.choice((1, None, {"a": 1}))
        if spec and random.random() < 0.15:
            name = random.choice(sorted(spec))
            spec[name] = _Twice(random.choice((1, "x", None, [1])), spec[name])
        return spec


def _members(value: Document, write: Callable[[Any], str]) -> str:
    pairs = [
        (name, each)
        for name, member in value.items()
        for each in (member if isinstance(member, _Twice) else (member,))
    ]
    return "{" + ", ".join(f"{json.dumps(name)}: {write(member)}" for name, member in pairs) + "}"


def _flow(value: Any) -> str:
    match value:
        case _Plain(text):
            return text
        case dict():
            return _members(value, _flow)
        case list():
            return "[" + ", ".join(map(_flow, value)) + "]"
        case _:
            return json.dumps(value)


def _json(body: Document) -> str:
    return _flow(body)


def _yaml(body: Document) -> str:
    # Members of spec stand in block style, so that scalars need no care for commas.
    lines = []
    for name, member in body.items():
        for each in member if isinstance(member, _Twice) else (member,):
            if isinstance(each, dict) and each:
                lines.append(f"{name}:")
                lines += [
                    f"  {json.dumps(key)}: {_flow(one)}"
                    for key, inner in each.items()
                    for one in (inner if isinstance(inner, _Twice) else (inner,))
                ]
            else:
                lines.append(f"{name}: {_flow(each)}")
    return "\n".join(lines) + "\n"
