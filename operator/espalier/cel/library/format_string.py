"""
``format``: texts with clauses such as ``%s`` and ``%.2f``.

Source:
    cel-go, ``ext/formatting.go``.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from espalier.cel.checker.check import Checked
from espalier.cel.expr import Call, Issue, ListLiteral, Literal, MapLiteral, Node
from espalier.cel.library.standard import to_text
from espalier.cel.types import CelType
from espalier.cel.values import (
    CelError,
    Duration,
    ListValue,
    TimeLimitError,
    Timestamp,
    Uint,
    Value,
    demand,
    is_list,
    is_map,
    quoted,
    type_of,
)

_DEFAULT_PRECISION: Final = 6
_MAX_PRECISION: Final = 100_000
_INFINITE: Final = ("NaN", "Infinity", "-Infinity")
_SHOWABLE: Final = frozenset(
    (
        *("list", "map", "int", "uint", "double", "bool", "string", "bytes", "type", "null_type"),
        *("google.protobuf.Timestamp", "google.protobuf.Duration"),
    )
)
_INTEGERS: Final = frozenset(("int", "uint"))
_DOUBLES: Final = frozenset(("double", "string"))
_PRECISION: Final = re.compile(r"\.([0-9]*)")


class Clause(NamedTuple):
    """
    A clause.

    Attributes:
        letter: The kind of the clause.
        precision: The digits after the point; None where not given.
    """

    letter: str
    precision: int | None


_COMPLAINTS: Final = {
    "s": (
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists,"
        " types, durations, and timestamps, was given {}"
    ),
    "d": "decimal clause can only be used on integers, was given {}",
    "f": "fixed-point clause can only be used on doubles, was given {}",
    "e": "scientific clause can only be used on doubles, was given {}",
    "b": "only integers and bools can be formatted as binary, was given {}",
    "x": "only integers, byte buffers, and strings can be formatted as hex, was given {}",
    "X": "only integers, byte buffers, and strings can be formatted as hex, was given {}",
    "o": "octal clause can only be used on integers, was given {}",
}
_ACCEPTED: Final = {
    "s": _SHOWABLE,
    "d": _INTEGERS,
    "f": _DOUBLES,
    "e": _DOUBLES,
    "b": _INTEGERS | {"bool"},
    "x": _INTEGERS | {"string", "bytes"},
    "X": _INTEGERS | {"string", "bytes"},
    "o": _INTEGERS,
}


class FormatError(Exception):
    """
    A text cannot be formatted.

    Attributes:
        node: The argument to blame; None where it is not known.
    """

    def __init__(self, text: str, node: Node | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.node = node


def _interpret(
    text: str, count: int, write: Callable[[Clause, int], str], *, is_static: bool = False
) -> tuple[str, int]:
    """
    Replace the clauses of a text.

    Returns:
        The text, and how many arguments it took.
    """
    written = []
    at = used = 0
    while at < len(text):
        start = text.find("%", at)
        if start < 0:
            written.append(text[at:])
            break
        written.append(text[at:start])
        if text.startswith("%%", start):
            written.append("%")
            at = start + 2
            continue
        is_at_end = start + 1 >= len(text)
        if used >= count and not (is_at_end and is_static):
            raise FormatError(f"index {used} out of range")
        if is_at_end:
            raise FormatError("unexpected end of string")
        clause, at = _clause(text, start + 1)
        written.append(write(clause, used))
        used += 1
    return "".join(written), used


def _clause(text: str, at: int) -> tuple[Clause, int]:
    prefix = "could not parse formatting clause: "
    precision: int | None = None
    match = _PRECISION.match(text, at)
    if match:
        at = match.end()
        while_parsing = f"{prefix}error while parsing precision: "
        if at >= len(text):
            raise FormatError(f"{while_parsing}could not find end of precision specifier")
        if not match.group(1):
            detail = "error while converting precision to integer: strconv.Atoi: parsing"
            detail = f'{detail} "": invalid syntax'
            raise FormatError(while_parsing + detail)
        precision = int(match.group(1)[:9])
    letter = text[at]
    if letter not in _ACCEPTED:
        raise FormatError(f'{prefix}unrecognized formatting clause "{letter}"')
    return Clause(letter, precision), at + 1


def format_text(text: str, args: ListValue) -> str:
    """
    Format a text.

    Raises:
        CelError: A clause is none, or does not fit its argument.
    """

    def write(clause: Clause, index: int) -> str:
        value = demand(args.items[index])
        try:
            return _write(clause, value)
        except FormatError as error:
            raise FormatError(f"error during formatting: {error.text}") from None

    try:
        return _interpret(text, len(args), write)[0]
    except FormatError as error:
        raise CelError(error.text) from None


def _write(clause: Clause, value: Value) -> str:
    kind = type_of(value).name
    if kind not in _ACCEPTED[clause.letter] or (
        clause.letter in "fe" and kind == "string" and value not in _INFINITE
    ):
        raise FormatError(_COMPLAINTS[clause.letter].format(kind))
    precision = _DEFAULT_PRECISION if clause.precision is None else clause.precision
    if precision > _MAX_PRECISION:
        raise TimeLimitError("it writes too many digits")
    match clause.letter:
        case "s":
            return _show(value)
        case "d":
            return str(int(value))
        case "f":
            return _fixed(value, precision)
        case "e":
            return _scientific(value, precision)
        case "b":
            return format(int(value), "b")
        case "o":
            return format(int(value), "o")
        case _:
            digits = _hex(value)
            return digits.upper() if clause.letter == "X" else digits


def _hex(value: Value) -> str:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass").hex()
    return value.hex() if isinstance(value, bytes) else format(int(value), "x")


def _special(number: float) -> str | None:
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "∞" if number > 0 else "-∞"
    return None


def _number(value: Value) -> float:
    # Adding zero takes the sign from a negative one, which the server does not write here.
    return float(value) + 0.0


def _fixed(value: Value, precision: int) -> str:
    number = _number(value)
    return _special(number) or f"{number:,.{precision}f}"


def _scientific(value: Value, precision: int) -> str:
    # The server writes for people of the United States.
    # What is given as the precision is a width to it.
    number = _number(value)
    found = _special(number)
    if found is not None:
        return found.rjust(precision)
    mantissa, _, exponent = f"{number:.{_DEFAULT_PRECISION}e}".partition("e")
    sign = "\u207b" if int(exponent) < 0 else ""
    digits = "".join(_SUPERSCRIPTS[char] for char in f"{abs(int(exponent)):02d}")
    return f"{mantissa}\u00d710{sign}{digits}".rjust(precision)


_SUPERSCRIPTS: Final = dict(
    zip("0123456789", "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079", strict=True)
)


def _show(value: Value) -> str:
    if is_list(value):
        return f"[{', '.join(_literal(demand(each)) for each in value.items)}]"
    if is_map(value):
        return _show_map(value)
    if value is None:
        return "null"
    return to_text(value)


def _show_map(value: Value) -> str:
    pairs = []
    for key in value.each_key():
        if not isinstance(key, (str, bool, int)):
            raise FormatError(f"no formatting function for map key of type {type_of(key).name}")
        pairs.append((_literal(key), _literal(demand(value.find(key)[0]))))
    return f"{{{', '.join(f'{key}:{member}' for key, member in sorted(pairs))}}}"


def _literal(value: Value) -> str:
    match value:
        case str():
            return quoted(value)
        case bytes():
            return f"b{quoted(to_text(value))}"
        case Timestamp():
            return f"timestamp({quoted(to_text(value))})"
        case Duration():
            return f"duration({quoted(to_text(value))})"
        case bool():
            return to_text(value)
        case Uint() | int():
            return str(int(value))
        case float():
            return _plain(value)
        case _:
            if type_of(value).name not in _SHOWABLE:
                raise FormatError(f"no formatting function for {type_of(value).name}")
            return _show(value)


def _plain(number: float) -> str:
    if math.isfinite(number):
        return f"{number:.6f}"
    return quoted("NaN" if math.isnan(number) else "+Inf" if number > 0 else "-Inf")


def format_issues(nodes: Sequence[Node], checked: Checked) -> Iterator[Issue]:
    """
    Find constant texts whose clauses do not fit the arguments.
    """
    for node in nodes:
        if (
            isinstance(node, Call)
            and node.function == "format"
            and isinstance(node.target, Literal)
            and isinstance(node.target.value, str)
            and len(node.args) == 1
            and isinstance(node.args[0], ListLiteral)
        ):
            yield from _issues(node, node.target.value, node.args[0].elements, checked)


def _issues(call: Call, text: str, args: tuple[Node, ...], checked: Checked) -> Iterator[Issue]:
    def write(clause: Clause, index: int) -> str:
        blamed = _misfit(clause, args[index], checked)
        if blamed is not None:
            kind = checked.types[blamed.id].name
            complaint = _COMPLAINTS[clause.letter].format(kind)
            raise FormatError(f"error during formatting: {complaint}", blamed)
        return ""

    try:
        _, used = _interpret(text, len(args), write, is_static=True)
    except FormatError as error:
        yield Issue((error.node or call).at, error.text)
        return
    if len(args) > used:
        detail = f"too many arguments supplied to string.format (expected {used}, got {len(args)})"
        yield Issue(call.at, detail)


def _misfit(clause: Clause, node: Node, checked: Checked) -> Node | None:
    kind: CelType = checked.types[node.id]
    if kind.kind != "dyn" and kind.name not in _ACCEPTED[clause.letter]:
        return node
    if clause.letter != "s":
        return None
    inner: list[Node] = []
    if isinstance(node, ListLiteral):
        inner = [*node.elements]
    elif isinstance(node, MapLiteral):
        for entry in node.entries:
            inner += [entry.key, entry.value] if isinstance(entry.key, Node) else [entry.value]
    for each in inner:
        found = _misfit(clause, each, checked)
        if found is not None:
            return found
    return None
