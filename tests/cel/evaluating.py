"""
Single expressions, evaluated as the oracle's ``cel-eval`` does, and told as it tells them.
"""

import base64
from collections.abc import Callable
from typing import Any

import espalier.schema.rules.list_types  # noqa: F401 - says how lists of schemas are compared
from espalier.cel.checker.check import check
from espalier.cel.checker.declarations import Declarations
from espalier.cel.environment import NEW_FUNCTIONS, TYPES
from espalier.cel.expr import Source
from espalier.cel.frames import Frame
from espalier.cel.interpreter.planner import plan
from espalier.cel.library.timestamps import write_timestamp
from espalier.cel.literals import literal_issues
from espalier.cel.parser.parse import ParseError, UnreadableError, parse
from espalier.cel.types import CelType
from espalier.cel.values import (
    CelError,
    CostLimitError,
    Duration,
    InternalError,
    Optional,
    Timestamp,
    Uint,
    UnsupportedError,
    Value,
    demand,
    is_list,
    is_map,
    type_of,
)
from espalier.golang.printing import render_value
from espalier.paths import JSON
from espalier.schema import Profile
from espalier.schema.parsing import parse as parse_schema
from espalier.schema.rules.types import SelfTypes, declare
from espalier.schema.rules.values import to_cel, with_type_and_metadata

NANOSECONDS = 1_000_000_000


class Evaluator:
    """
    Evaluates expressions about one object.
    """

    def __init__(self, schema: JSON, value: JSON, old: JSON) -> None:
        structural = parse_schema(schema, profile=Profile.APISERVER)
        assert structural is not None
        declared = declare(structural, is_resource=True)
        assert declared is not None
        node = with_type_and_metadata(structural)
        self._types = SelfTypes(declared)
        self._variables = {"self": to_cel(value, node), "oldSelf": to_cel(old, node)}

    def tell(self, text: str) -> dict[str, Any]:
        """
        Tell the type, the value and the cost of an expression, or why it has none.
        """
        source = Source(text)
        names = dict.fromkeys(self._variables, self._types.type)
        try:
            root = parse(source)
            declarations = Declarations(names, NEW_FUNCTIONS, TYPES, self._types)
            checked, issues = check(root, declarations)
        except ParseError as error:
            return {"compileError": source.display(error.issues)}
        except (UnreadableError, UnsupportedError) as error:
            return {"unreadable": str(error)}
        issues = issues or literal_issues(checked)
        if issues:
            return {"compileError": source.display(issues)}
        told: dict[str, Any] = {"type": type_text(checked.type)}
        try:
            program = plan(checked)
        except CelError as error:
            return {**told, "compileError": error.text}
        frame = Frame(self._variables, slots=program.slots)
        try:
            value = program.run(frame)
        except (CelError, CostLimitError, InternalError) as error:
            return {**told, "cost": frame.cost, "error": str(error)}
        return {**told, "cost": frame.cost, "value": tagged(value)}


def type_text(one: CelType) -> str:
    """
    Write a type as Go's ``Type.String`` does.
    """
    if not one.params:
        return one.name
    return f"{one.name}({', '.join(map(type_text, one.params))})"


def tagged(value: Value) -> Any:
    """
    Write a value so that its type can be told, as the oracle does.
    """
    if value is None:
        return {"null": True}
    if isinstance(value, Optional):
        return {"optional": tagged(value.value) if value.has_value else None}
    if is_list(value):
        return {"list": [tagged(demand(each)) for each in value.items]}
    if is_map(value):
        pairs = [[tagged(key), tagged(demand(value.find(key)[0]))] for key in value.each_key()]
        return {"map": sorted(pairs, key=lambda pair: str(pair[0]))}
    return _scalar(value)


def _scalar(value: Value) -> Any:
    write = _TAGS.get(value.__class__)
    return {"other": type_of(value).name} if write is None else write(value)


_TAGS: dict[type, Callable[[Value], Any]] = {
    bool: lambda value: {"bool": value},
    int: lambda value: {"int": str(value)},
    Uint: lambda value: {"uint": str(int(value))},
    float: lambda value: {"double": render_value(value)},
    str: lambda value: {"string": value},
    bytes: lambda value: {"bytes": base64.b64encode(value).decode()},
    Timestamp: lambda value: {"timestamp": write_timestamp(value._replace(offset_seconds=0))},
    Duration: lambda value: {"duration": go_duration(value.nanoseconds)},
    CelType: lambda value: {"type": type_text(value)},
}


def go_duration(nanoseconds: int) -> str:
    """
    Write a duration of whole seconds as Go's ``Duration.String`` does; others in nanoseconds.
    """
    sign = "-" if nanoseconds < 0 else ""
    seconds, rest = divmod(abs(nanoseconds), NANOSECONDS)
    if rest:
        return f"{sign}{abs(nanoseconds)}ns"
    hours, seconds = divmod(seconds, 3600)
    minutes, seconds = divmod(seconds, 60)
    if hours:
        return f"{sign}{hours}h{minutes}m{seconds}s"
    return f"{sign}{minutes}m{seconds}s" if minutes else f"{sign}{seconds}s"
