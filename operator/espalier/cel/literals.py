"""
What the server finds wrong with constants in expressions that have the right types.

Source:
    cel-go, ``cel/validator.go``.
"""

from collections.abc import Callable, Iterator
from typing import Final

from espalier.cel.checker.check import Checked
from espalier.cel.expr import Call, Issue, ListLiteral, Literal, MapLiteral, Node, children, walk
from espalier.cel.library.format_string import format_issues
from espalier.cel.library.timestamps import parse_duration, parse_timestamp
from espalier.cel.types import CelType, format_type, same_but_for_variables, unwrap_optional
from espalier.cel.values import MAX_UNIX_SECONDS, MIN_UNIX_SECONDS, NANOSECONDS
from espalier.golang.regexps import pattern_error

_EXEMPT: Final = "format"


def literal_issues(checked: Checked) -> list[Issue]:
    """
    Find what is wrong with the constants of an expression.
    """
    nodes = [*walk(checked.root)]
    return [
        *_arguments(nodes, "duration", _is_duration),
        *_arguments(nodes, "timestamp", _is_timestamp),
        *_arguments(nodes, "matches", _is_pattern),
        *_mixtures(checked),
        *format_issues(nodes, checked),
    ]


# The types let null stand for times and durations, which it never becomes.


def _is_duration(value: object) -> bool:
    if value is None:
        return False
    return not isinstance(value, str) or parse_duration(value) is not None


def _is_timestamp(value: object) -> bool:
    if isinstance(value, int):
        return MIN_UNIX_SECONDS <= value <= MAX_UNIX_SECONDS
    if not isinstance(value, str):
        return value is not None
    found = parse_timestamp(value)
    if found is None:
        return False
    return MIN_UNIX_SECONDS <= found.nanoseconds // NANOSECONDS <= MAX_UNIX_SECONDS


def _is_pattern(value: object) -> bool:
    return not isinstance(value, str) or pattern_error(value) is None


def _arguments(
    nodes: list[Node], function: str, is_valid: Callable[[object], bool]
) -> Iterator[Issue]:
    for node in nodes:
        if isinstance(node, Call) and node.function == function and node.args:
            argument = node.args[0]
            if isinstance(argument, Literal) and not is_valid(argument.value):
                yield Issue(argument.at, f"invalid {function} argument")


def _mixtures(checked: Checked) -> Iterator[Issue]:
    # Elements must be of one type, unless they are texts to be.
    found = [*_aggregates(checked.root)]
    for node in found:
        if isinstance(node, ListLiteral):
            yield from _list(node, checked)
    for node in found:
        if isinstance(node, MapLiteral):
            yield from _map(node, checked)


def _aggregates(root: Node) -> Iterator[Node]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Call) and node.function == _EXEMPT:
            continue
        if isinstance(node, (ListLiteral, MapLiteral)):
            yield node
        waiting += [*children(node)][::-1]


def _list(node: ListLiteral, checked: Checked) -> Iterator[Issue]:
    wanted: CelType | None = None
    for index, each in enumerate(node.elements):
        found = checked.types[each.id]
        if index in node.optional_indices:
            found = unwrap_optional(found)[0]
        if wanted is None:
            wanted = found
        elif not same_but_for_variables(wanted, found):
            yield _mismatch(each, wanted, found)
            return


def _map(node: MapLiteral, checked: Checked) -> Iterator[Issue]:
    wanted: tuple[CelType, CelType] | None = None
    for entry in node.entries:
        if not isinstance(entry.key, Node):
            continue
        value = checked.types[entry.value.id]
        if entry.is_optional:
            value = unwrap_optional(value)[0]
        found = (checked.types[entry.key.id], value)
        if wanted is None:
            wanted = found
            continue
        for part, want, have in zip((entry.key, entry.value), wanted, found, strict=True):
            if not same_but_for_variables(want, have):
                yield _mismatch(part, want, have)


def _mismatch(node: Node, wanted: CelType, found: CelType) -> Issue:
    text = f"expected type '{format_type(wanted)}' but found '{format_type(found)}'"
    return Issue(node.at, text)
