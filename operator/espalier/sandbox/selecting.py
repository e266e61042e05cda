"""
Label and field selectors.
"""

import re
from collections.abc import Callable, Mapping

from espalier.sandbox.wire import Object, bad_request

Matches = Callable[[Object], bool]
Test = Callable[[Mapping[str, str]], bool]

_SET = re.compile(r"^(?P<key>\S+)\s+(?P<negated>not)?in\s*\((?P<values>[^)]*)\)$")
_EQUALS = re.compile(r"^(?P<key>[^!=\s]+)\s*(?P<operator>==?|!=)\s*(?P<value>[^!=\s]*)$")
_EXISTS = re.compile(r"^(?P<negated>!)?\s*(?P<key>[A-Za-z0-9./_-]+)$")
# `kubectl describe` finds the Events of an object by these fields.
_INVOLVED = "involvedObject."
_COMMA = re.compile(r",(?![^(]*\))")


def selector(options: Mapping[str, str]) -> Matches | None:
    """
    Compile the selectors of a request; return None if it has none.

    Raises:
        Refusal: 400.
    """
    tests = [_label_test(part) for part in _parts(options.get("labelSelector", ""))]
    fields = [_field_test(part) for part in _parts(options.get("fieldSelector", ""))]
    if not tests and not fields:
        return None

    def matches(obj: Object) -> bool:
        metadata = obj.get("metadata") or {}
        labels = metadata.get("labels") or {}
        named = {
            "metadata.name": metadata.get("name", ""),
            "metadata.namespace": metadata.get("namespace", ""),
        } | {f"{_INVOLVED}{key}": value for key, value in (obj.get("involvedObject") or {}).items()}
        return all(test(labels) for test in tests) and all(test(named) for test in fields)

    return matches


def _parts(text: str) -> list[str]:
    return [part.strip() for part in _COMMA.split(text) if part.strip()]


def _label_test(part: str) -> Test:
    if found := _SET.match(part):
        key, negated = found["key"], bool(found["negated"])
        values = {value.strip() for value in found["values"].split(",")}
        return lambda labels: (labels.get(key) in values) is not negated
    if found := _EQUALS.match(part):
        return _equality(found["key"], found["operator"], found["value"])
    if found := _EXISTS.match(part):
        key, negated = found["key"], bool(found["negated"])
        return lambda labels: (key in labels) is not negated
    raise bad_request(f"unable to parse requirement: {part}")


def _field_test(part: str) -> Test:
    found = _EQUALS.match(part)
    if found is None:
        raise bad_request(f"invalid selector: '{part}'; can't understand '{part}'")
    is_known = found["key"] in ("metadata.name", "metadata.namespace")
    if not is_known and not found["key"].startswith(_INVOLVED):
        raise bad_request(f"field label not supported: {found['key']}")
    return _equality(found["key"], found["operator"], found["value"])


def _equality(key: str, operator: str, value: str) -> Test:
    if operator == "!=":
        return lambda values: values.get(key) != value
    return lambda values: values.get(key) == value
