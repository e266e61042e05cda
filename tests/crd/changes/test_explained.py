"""
Whatever makes an object invalid, or lose a field, is explained by a change.
"""

import os
from copy import deepcopy
from random import Random
from typing import Any

from espalier import schema
from espalier.crd.changes.change import KINDS, Change, Severity
from espalier.crd.changes.schemas import schema_changes
from espalier.errors import MalformedValueError, SchemaParseError
from espalier.paths import JSON, Key, Path, Step
from espalier.schema import Normalized, Profile, Structural
from espalier.schema.validation.default_values import default_judge
from espalier.schema.validation.defaults import check_defaults
from tests.differential import objects, schemas
from tests.differential.dice import Dice
from tests.differential.worsening import Node

PAIRS = int(os.environ.get("ESPALIER_CHANGED_SCHEMAS", "400"))
OBJECTS = 6
_WHOLE = ("metadata", "apiVersion", "kind")


def structural(written: JSON) -> Structural | None:
    try:
        parsed = schema.parse(written, profile=Profile.APISERVER)
    except SchemaParseError:
        return None
    if parsed is None or schema.check_structural(parsed, profile=Profile.APISERVER):
        return None
    # No server accepts a definition whose defaults are invalid; below additionalProperties, where
    # servers do not check them, the proposals forbid them.
    invalid = any(
        check_defaults(parsed, profile=profile, judge=default_judge(profile=profile))
        for profile in Profile
    )
    return None if invalid else parsed


def edited(dice: Dice, old: Node) -> Node:
    """
    Return a schema that shares parts with another one.
    """
    new, other = deepcopy(old), schemas.root(dice, sound_one_in=1)
    theirs, ours = other.get("properties"), new.get("properties")
    if not isinstance(theirs, dict) or not isinstance(ours, dict):
        return other
    for name, child in list(ours.items()):
        chance = dice.number()
        if chance < 0.15:
            del ours[name]
        elif chance < 0.45 and theirs:
            source = dice.pick([*theirs.values()])
            if isinstance(child, dict) and isinstance(source, dict) and source:
                keyword = dice.pick([*source])
                child[keyword] = source[keyword]
        elif chance < 0.55:
            ours[name] = schemas.schema(dice)
    if dice.seldom(4):
        new["required"] = [dice.pick([*ours])] if ours else []
    return new


def data_path(change: Change) -> Path:
    found: list[Step] = []
    steps = iter(change.path)
    for step in steps:
        if step == "properties" and not isinstance(step, Key):
            found.append(str(next(steps)))
        elif step in ("items", "additionalProperties") and not isinstance(step, Key):
            found.append("*")
        else:
            break
    return tuple(found)


def agree(left: Path, right: Path) -> bool:
    return all(
        "*" in (one, other) or str(one) == str(other)
        for one, other in zip(left, right, strict=False)
    )


def normalized(value: JSON, node: Structural) -> Normalized | None:
    try:
        return schema.normalize(value, node, profile=Profile.APISERVER)
    except MalformedValueError:
        return None


def accepted(value: JSON, node: Structural) -> dict[str, Any] | None:
    """
    Return an object as it is stored under a schema; None if it is refused.
    """
    read = normalized(value, node)
    normal = None if read is None else read.value
    if not isinstance(normal, dict) or schema.validate(normal, node, profile=Profile.APISERVER):
        return None
    return normal


def test_what_a_new_schema_refuses_or_drops_is_explained() -> None:
    dice = Dice(Random(os.environ.get("ESPALIER_CHANGED_SEED", "changes")))  # noqa: S311 - no secret
    pairs = refused = lost = 0
    while pairs < PAIRS:
        written = schemas.root(dice, sound_one_in=1)
        old, new = structural(written), structural(edited(dice, written))
        if old is None or new is None:
            continue
        pairs += 1
        changes = [
            (one.kind, data_path(one))
            for one in schema_changes(old, new, (), "v1")
            if KINDS[one.kind] is not Severity.ALLOWED
        ]
        for _ in range(OBJECTS):
            stored = accepted(objects.obj(dice, written), old)
            if stored is None:
                continue
            read = normalized(stored, new)
            if read is None:
                assert "embedded-resource-added" in {kind for kind, _ in changes}
                continue
            errors = schema.validate(read.value, new, profile=Profile.APISERVER)
            gone = [path for path in read.removed if path[0] not in _WHOLE]
            refused, lost = refused + bool(errors), lost + bool(gone)
            for path in [*(one.path for one in errors), *gone]:
                about = (path, written, stored, changes, [str(one) for one in errors])
                assert any(agree(path, where) for _, where in changes), about

    assert min(refused, lost) > PAIRS // 10, (refused, lost)
