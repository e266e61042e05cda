"""
Definitions and objects as files, for comparing whole command lines.
"""

import itertools
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from benchmarks.validate_objects import subjects
from espalier.crd import Definition, Version, read_definition, resource_of
from espalier.paths import JSON
from espalier.schema import Profile, Resource, check_creation, normalize
from espalier.schema.rules.judge import CelJudge

Node = dict[str, Any]

_MOST_LEVELS = 6
_OPTIONAL_FIELDS = 0.35
_INVALID_OBJECTS = 0.1
_MOST_ATTEMPTS = 30
_RULES = CelJudge()
_FORMATS = {"date-time": "2026-01-02T03:04:05Z", "byte": "aGVsbG8="}
# Texts for patterns: URLs, durations, quantities, names.
_TEXTS = (
    "https://example.com/",
    "90m",
    "90d",
    "512MB",
    "1.5Gi",
    "name",
    "NAME_1",
    "example.com/name",
)


class Kind(NamedTuple):
    """
    A kind of objects.

    Attributes:
        schema: The schema of its storage version.
    """

    group: str
    version: str
    name: str
    plural: str
    schema: Node

    @property
    def definition(self) -> Node:
        """
        The CustomResourceDefinition with this version alone.
        """
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{self.plural}.{self.group}"},
            "spec": {
                "group": self.group,
                "scope": "Namespaced",
                "names": {"plural": self.plural, "kind": self.name, "singular": self.name.lower()},
                "versions": [
                    {
                        "name": self.version,
                        "served": True,
                        "storage": True,
                        "schema": {"openAPIV3Schema": self.schema},
                    }
                ],
            },
        }


def own_kinds() -> Iterator[Kind]:
    """
    Yield three kinds of the sizes of ``bench-schema``, each with one validation rule.
    """
    for number, subject in enumerate(subjects()):
        schema = {**subject.schema, "x-kubernetes-validations": [{"rule": "has(self.spec)"}]}
        yield Kind("bench.example.com", "v1", f"Kind{number}", f"kind{number}s", schema)


def published_kinds(files: Sequence[Path]) -> Iterator[Kind]:
    """
    Yield the kinds of definitions in files.
    """
    for file in files:
        spec = yaml.load(file.read_text(), yaml.CSafeLoader)["spec"]
        version = next(one for one in spec["versions"] if one["storage"])
        yield Kind(
            spec["group"],
            version["name"],
            spec["names"]["kind"],
            spec["names"]["plural"],
            version["schema"]["openAPIV3Schema"],
        )


def objects_of(kind: Kind, number: int) -> Iterator[Node]:
    """
    Yield objects of a kind, the same in every run; about a tenth of them has a wrong type.

    The others are drawn again until they satisfy the rules too, if a few attempts do.
    """
    dice = random.Random(kind.plural)  # noqa: S311 - no secret
    resource = resource_of(*_read(kind))
    for index in range(number):
        obj = _drawn(kind, index, dice)
        for _ in range(_MOST_ATTEMPTS):
            if _is_accepted(obj, resource):
                break
            obj = _drawn(kind, index, dice)
        if dice.random() < _INVALID_OBJECTS:
            _spoil(obj.get("spec"), dice)
        yield obj


def _drawn(kind: Kind, index: int, dice: random.Random) -> Node:
    obj: Node = {
        "apiVersion": f"{kind.group}/{kind.version}",
        "kind": kind.name,
        "metadata": {"name": f"{kind.name.lower()}-{index}", "namespace": "default"},
    }
    for name, child in kind.schema.get("properties", {}).items():
        if name not in obj and (name != "status" or dice.random() < _OPTIONAL_FIELDS):
            obj[name] = _value(child, dice, 0)
    return obj


def _read(kind: Kind) -> tuple[Definition, Version]:
    definition = read_definition(kind.definition)
    return definition, definition.versions[0]


def _is_accepted(obj: Node, resource: Resource) -> bool:
    """
    Report whether an object is created as it is: it satisfies all rules, and loses no field.
    """
    normal = normalize(obj, resource.structural, profile=Profile.APISERVER)
    if normal.removed or not isinstance(normal.value, dict):
        return False
    answer = check_creation(normal.value, resource, rules=_RULES)
    return not answer.errors and not answer.unchecked


def _value(schema: Node, dice: random.Random, level: int) -> Any:
    if "default" in schema:
        return schema["default"]
    if schema.get("enum"):
        return dice.choice(schema["enum"])
    if schema.get("x-kubernetes-int-or-string"):
        return dice.choice([8080, "50m"])
    match schema.get("type"):
        case "object":
            return _object(schema, dice, level)
        case "array":
            least = schema.get("minItems", 0)
            return [
                _value(schema.get("items", {}), dice, level + 1)
                for _ in range(max(least, dice.randint(0, 2)) if level < _MOST_LEVELS else least)
            ]
        case "integer" | "number":
            least = int(schema.get("minimum", 0))
            return dice.randint(least, min(int(schema.get("maximum", least + 50)), least + 50))
        case "boolean":
            return dice.random() < _OPTIONAL_FIELDS
        case _:
            return _text(schema, dice)


def _object(schema: Node, dice: random.Random, level: int) -> Node:
    required = schema.get("required", ())
    made = {
        name: _value(child, dice, level + 1)
        for name, child in schema.get("properties", {}).items()
        if name in required
        or (level < _MOST_LEVELS and "pattern" not in child and dice.random() < _OPTIONAL_FIELDS)
    }
    additional = schema.get("additionalProperties")
    if isinstance(additional, dict):
        made |= {f"key-{n}": _value(additional, dice, level + 1) for n in range(2)}
    return made


def _text(schema: Node, dice: random.Random) -> str:
    if schema.get("format") in _FORMATS:
        return _FORMATS[schema["format"]]
    text = f"value-{dice.randint(0, 999)}"
    if "pattern" in schema and not re.search(schema["pattern"], text):
        fitting = (one for one in _TEXTS if re.search(schema["pattern"], one))
        return next(fitting, text)
    length = min(len(text), schema.get("maxLength", 99))
    return (text * 20)[: max(schema.get("minLength", 0), length)]


def _spoil(value: JSON, dice: random.Random) -> None:
    while isinstance(value, dict) and value:
        name = dice.choice(sorted(value))
        if not isinstance(value[name], dict) or not value[name]:
            value[name] = {"wrong": ["type"]} if not isinstance(value[name], dict) else 7
            return
        value = value[name]


def write_manifests(folder: Path, kinds: Sequence[Kind], number: int) -> tuple[Path, Path]:
    """
    Write definitions and objects, one file each.

    Returns:
        The folder of definitions and that of objects.
    """
    crds, objects = folder / "crds", folder / "objects"
    crds.mkdir(parents=True)
    objects.mkdir()
    for kind in kinds:
        (crds / f"{kind.plural}.{kind.group}.yaml").write_text(_yaml(kind.definition))
    shares = [number // len(kinds) + (index < number % len(kinds)) for index in range(len(kinds))]
    made = itertools.chain.from_iterable(map(objects_of, kinds, shares))
    for index, obj in enumerate(made):
        (objects / f"{index:06}.yaml").write_text(_yaml(obj))
    return crds, objects


def _yaml(value: Node) -> str:
    return str(yaml.dump(value, Dumper=yaml.CSafeDumper, sort_keys=False))
