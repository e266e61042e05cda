"""
JSON values: types, copies, depth and equality. This module does not know schemas.
"""

from collections.abc import Hashable

from espalier.paths import JSON

SCALARS = frozenset({str, int, float, bool})
"""The classes of scalar values, without that of null."""


def type_of(value: JSON) -> str:
    """
    Name the JSON type of a value; a float is a number, even an integral one.
    """
    match value:
        case None:
            return "null"
        case bool():  # before int: True is an int to Python, and no number to JSON
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def is_of_type(value: JSON, expected: str) -> bool:
    """
    Report whether a value has a schema's type, by the rules of JSON Schema.

    An integral float is an integer, and an integer is a number. No value has an unknown type.
    """
    found = type_of(value)
    if found == expected:
        return True
    if expected == "number":
        return found == "integer"
    return expected == "integer" and isinstance(value, float) and value.is_integer()


def copy_json(value: JSON) -> JSON:
    """
    Copy a value deeply; scalars are shared. Values of any depth are copied.
    """
    if not isinstance(value, (dict, list)):
        return value
    top = value.copy()
    waiting: list[dict[str, JSON] | list[JSON]] = [top]
    while waiting:
        container = waiting.pop()
        if isinstance(container, dict):
            for key, member in container.items():
                if isinstance(member, (dict, list)):
                    container[key] = copied = member.copy()
                    waiting.append(copied)
        else:
            for index, member in enumerate(container):
                if isinstance(member, (dict, list)):
                    container[index] = copied = member.copy()
                    waiting.append(copied)
    return top


def nests_deeper_than(value: JSON, limit: int) -> bool:
    """
    Report whether objects and lists are nested more than ``limit`` levels deep.
    """
    level: list[JSON] = [value]
    for _ in range(limit + 1):
        level = [
            member
            for container in level
            if isinstance(container, (dict, list))
            for member in (container.values() if isinstance(container, dict) else container)
        ]
        if not level:
            return False
    return any(isinstance(member, (dict, list)) for member in level)


def equal_json(left: JSON, right: JSON) -> bool:
    """
    Report whether two values are deeply equal in Go: 1 equals neither 1.0 nor true.

    Values of any depth are compared.
    """
    waiting = [(left, right)]
    while waiting:
        one, other = waiting.pop()
        if one is other:
            continue
        if isinstance(one, dict) and isinstance(other, dict):
            if one.keys() != other.keys():
                return False
            waiting.extend((member, other[key]) for key, member in one.items())
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return False
            waiting.extend(zip(one, other, strict=True))
        elif one.__class__ is not other.__class__ or one != other:
            return False
    return True


def mark_of(value: JSON) -> Hashable:
    """
    Make a hashable key of a value; two keys are equal if ``equal_json`` holds for the values.

    Values of any depth are accepted.
    """
    if not isinstance(value, (dict, list)):
        return value.__class__, value
    # A container's class and size determine where it ends, so one flat sequence is unambiguous.
    marks: list[Hashable] = []
    waiting: list[JSON] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            names = sorted(item)
            marks += (dict, *names), len(names)
            waiting.extend(item[name] for name in names)
        elif isinstance(item, list):
            marks += list, len(item)
            waiting.extend(item)
        else:
            marks.append((item.__class__, item))
    return tuple(marks)
