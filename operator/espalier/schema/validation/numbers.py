"""
The checks of keywords for numbers, and Go's conversions of numbers.
"""

import math

from espalier.findings import ErrorType
from espalier.golang.printing import render_value
from espalier.paths import JSON
from espalier.schema.model import Structural
from espalier.schema.validation.formats import format_of
from espalier.schema.validation.violations import At, ValueViolations, Violation

_INT64_LIMIT = 1 << 63
_INT32_LIMIT = 1 << 31
_MAX_JSON_FLOAT = float((1 << 53) - 1)
_RELATIVE_ERROR = 1e-9
_HALF = 0.5

_FLOAT32_LIMIT = float.fromhex("0x1.ffffffp+127")
"""The smallest number that rounds to infinity in 32 bits."""


def check_range(value: JSON, node: Structural, at: At, result: ValueViolations) -> None:
    """
    Check that the value is in the range of its type and format.
    """
    if isinstance(value, (int, float)):
        _is_in_range(value, node, "Checked", at, result)


def _is_in_range(
    number: float, node: Structural, prefix: str, at: At, result: ValueViolations
) -> bool:
    # Only an unambiguous type has a range.
    type_, format_ = "" if node.int_or_string else node.type, format_of(node)
    if type_ == "integer":
        is_in_range = _is_integer(number, _INT32_LIMIT if format_ == "int32" else _INT64_LIMIT)
    else:
        is_in_range = (type_, format_) != ("number", "float") or abs(number) < _FLOAT32_LIMIT
    if not is_in_range:
        format_text = f"with format {format_}" if format_ else "(default format)"
        text = f"{prefix} value must be of type {type_} {format_text} in {at.name}"
        result.add(Violation("range", ErrorType.INVALID, None, "", text))
    return is_in_range


def _is_integer(number: float, limit: int) -> bool:
    # The server parses a float again from its shortest decimal form: by that the smallest integer
    # is out of range.
    is_beyond = number.__class__ is float and number == -_INT64_LIMIT
    return number % 1 == 0 and -limit <= number < limit and not is_beyond


def check_multiple_of(value: JSON, node: Structural, at: At, result: ValueViolations) -> None:
    """
    Check ``multipleOf``.
    """
    factor = node.value_validation.multiple_of
    if factor is None or not isinstance(value, (int, float)):
        return
    number, factor = _native(value, float(factor), node, "MultipleOf", at, result)
    if factor <= 0:
        text = f"factor MultipleOf declared for {at.name} must be positive: {render_value(factor)}"
        result.add(Violation("multipleOf", ErrorType.INVALID, at.path, factor, text))
    elif not _is_multiple(number, factor):
        text = f"should be a multiple of {render_value(factor)}"
        result.add(at.invalid("multipleOf", text, number))


def _is_multiple(number: float, factor: float) -> bool:
    if isinstance(number, int):
        return number % factor == 0
    return is_integral(1 / factor * number if factor < 1 else number / factor)


def _native(
    value: float, bound: float, node: Structural, prefix: str, at: At, result: ValueViolations
) -> tuple[float, float]:
    # Return the value and the bound for comparison: as integers if the value is one and the bound
    # is in the range of the type.
    if _is_in_range(bound, node, prefix, at, result) and isinstance(value, int):
        return value, int64_of(bound)
    return float64_of(value), bound


def int64_of(number: float) -> int:
    """
    Convert a number as Go does on the servers' processors.
    """
    if not math.isfinite(float64_of(number)):
        return -_INT64_LIMIT
    whole = math.trunc(number)
    return whole if -_INT64_LIMIT <= whole < _INT64_LIMIT else -_INT64_LIMIT


def float64_of(number: float) -> float:
    """
    Convert a number of any size; too large ones become infinite.
    """
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def check_minimum(value: JSON, node: Structural, at: At, result: ValueViolations) -> None:
    """
    Check ``minimum`` and ``exclusiveMinimum``.
    """
    validation = node.value_validation
    if validation.minimum is None or not isinstance(value, (int, float)):
        return
    bound = float(validation.minimum)
    number, least = _native(value, bound, node, "Minimum boundary", at, result)
    exclusive = validation.exclusive_minimum
    if number < least or (exclusive and number == least):
        than = "greater than" if exclusive else "greater than or equal to"
        result.add(at.invalid("minimum", f"should be {than} {render_value(least)}", number))


def check_maximum(value: JSON, node: Structural, at: At, result: ValueViolations) -> None:
    """
    Check ``maximum`` and ``exclusiveMaximum``.
    """
    validation = node.value_validation
    if validation.maximum is None or not isinstance(value, (int, float)):
        return
    bound = float(validation.maximum)
    number, greatest = _native(value, bound, node, "Maximum boundary", at, result)
    exclusive = validation.exclusive_maximum
    if number > greatest or (exclusive and number == greatest):
        than = "less than" if exclusive else "less than or equal to"
        result.add(at.invalid("maximum", f"should be {than} {render_value(greatest)}", number))


def is_integral(number: float) -> bool:
    """
    Report whether a float counts as a JSON integer; tiny relative errors are ignored.

    Source:
        go-openapi/swag, ``conv/convert.go``, ``IsFloat64AJSONInteger``.
    """
    if not abs(number) <= _MAX_JSON_FLOAT:
        return False
    rounded = math.floor(abs(number))
    if abs(number) - rounded >= _HALF:
        rounded += 1
    difference = abs(abs(number) - rounded)
    return difference == 0 or (rounded != 0 and difference < _RELATIVE_ERROR * rounded)
