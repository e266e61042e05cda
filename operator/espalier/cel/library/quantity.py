"""
Quantities: ``500m``, ``1.5Gi``, ``1e3``.

Source:
    apiserver, ``pkg/cel/library/quantity.go``; apimachinery, ``pkg/api/resource``.
"""

import re
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar, Final

from espalier.cel.equality import NO_SUCH_OVERLOAD, opaque_equality
from espalier.cel.signatures import Library, overload
from espalier.cel.types import QUANTITY, CelType
from espalier.cel.values import INT64_MAX, INT64_MIN, CelError, Opaque, TimeLimitError, Value

_QUANTITY: Final = re.compile(
    r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?(|[eEinumkKMGTP]+[-+]?[0-9]*|[-+][0-9]*)"
)
_WRONG: Final = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_BAD_SUFFIX: Final = "unable to parse quantity's suffix"
_DECIMAL: Final = {
    "n": -9,
    "u": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_EXPONENT: Final = re.compile("[eE]([-+]?[0-9]+)")
_INT64_DIGITS, _NANO, _BINARY_DIGITS = 18, -9, 15
_MAX_EXPONENT, _MAX_CHARACTERS = 1_000, 1_000


@dataclass(frozen=True, slots=True)
class QuantityValue(Opaque):
    """
    A quantity: ``number`` times ten to the power of ``scale``.

    Attributes:
        is_large: Whether the server holds it as a number of any size: then it is no integer.
        is_sum: Whether it was added up: the server can compare it with others, but not others with
            it.
    """

    number: int
    scale: int
    is_large: bool = False
    is_sum: bool = False
    type: ClassVar[CelType] = QUANTITY

    @property
    def exact(self) -> Fraction:
        """
        The number.
        """
        return Fraction(self.number) * Fraction(10) ** self.scale

    def is_equal(self, other: Value) -> bool:
        """
        Compare with another quantity, by number.
        """
        if not isinstance(other, QuantityValue):
            return opaque_equality(self, other)
        if other.is_sum:
            raise CelError(NO_SUCH_OVERLOAD)
        return self.exact == other.exact

    def integer(self) -> int | None:
        """
        Read it as an integer; None where the server does not.
        """
        if self.is_large or self.scale < 0:
            return None
        found = self.number * 10**self.scale
        return found if INT64_MIN <= found <= INT64_MAX else None

    def __add__(self, other: "QuantityValue") -> "QuantityValue":
        if not (self.is_large or other.is_large):
            if not other.number:
                return self
            if not self.number:
                return other
            scale = min(self.scale, other.scale)
            parts = [each.number * 10 ** (each.scale - scale) for each in (self, other)]
            if all(INT64_MIN <= each <= INT64_MAX for each in (*parts, sum(parts))):
                return QuantityValue(sum(parts), scale)
        return _large(self.exact + other.exact)

    def __neg__(self) -> "QuantityValue":
        return QuantityValue(-self.number, self.scale, self.is_large)


def _large(exact: Fraction) -> QuantityValue:
    scale = _NANO
    while (exact / Fraction(10) ** scale).denominator != 1:
        scale -= 1
    return QuantityValue(int(exact / Fraction(10) ** scale), scale, is_large=True)


def parse_quantity(text: str) -> QuantityValue:
    """
    Read a quantity.

    Raises:
        CelError: It is none.
    """
    match = _QUANTITY.fullmatch(text) if text else None
    if match is None:
        raise CelError(_WRONG)
    if len(text) > _MAX_CHARACTERS:
        raise TimeLimitError("a quantity is too long")
    sign, whole, fraction, suffix = match.groups()
    whole, fraction = whole or "0", fraction or ""
    base, exponent = _interpret(suffix)
    if abs(exponent) > _MAX_EXPONENT:
        raise TimeLimitError("the exponent of a quantity is too large")
    small = _small(whole, fraction, base, exponent)
    if small is not None:
        return -small if sign == "-" else small
    exact = Fraction(int(whole + fraction), 10 ** len(fraction))
    exact *= Fraction(base) ** exponent
    # What is smaller than the smallest unit is rounded up.
    nano = -((-exact * 10**9) // 1)
    if base == 2:  # noqa: PLR2004 - the base of binary suffixes
        nano = min(nano, INT64_MAX * 10**9)
    return QuantityValue(int(-nano if sign == "-" else nano), _NANO, is_large=True)


def _interpret(suffix: str) -> tuple[int, int]:
    if suffix in _DECIMAL:
        return 10, _DECIMAL[suffix]
    if suffix in _BINARY:
        return 2, _BINARY[suffix]
    match = _EXPONENT.fullmatch(suffix)
    if match is None:
        raise CelError(_BAD_SUFFIX)
    return 10, int(match.group(1))


def _small(whole: str, fraction: str, base: int, exponent: int) -> QuantityValue | None:
    scale, factor = exponent, 1
    precision = _INT64_DIGITS - len(whole) - len(fraction)
    if base == 2:  # noqa: PLR2004 - the base of binary suffixes
        scale, factor = 0, 1 << exponent
        precision = -1 if fraction else _BINARY_DIGITS - len(whole) - exponent * 3 // 10 - 1
    scale -= len(fraction)
    if precision < 0 or scale < _NANO:
        return None
    number = int(whole + fraction) * factor
    return QuantityValue(number, scale) if number <= INT64_MAX else None


def _is_quantity(text: str) -> bool:
    try:
        parse_quantity(text)
    except CelError:
        return False
    return True


def _compare(left: QuantityValue, right: QuantityValue) -> int:
    return int(left.exact > right.exact) - int(left.exact < right.exact)


def _as_integer(quantity: QuantityValue) -> int:
    found = quantity.integer()
    if found is None:
        raise CelError("cannot convert value to integer")
    return found


def _as_float(quantity: QuantityValue) -> float:
    number = float(quantity.number)
    return number * float(Decimal(10) ** quantity.scale) if quantity.scale else number


def _sign(quantity: QuantityValue) -> int:
    return int(quantity.number > 0) - int(quantity.number < 0)


def _add(left: QuantityValue, right: QuantityValue) -> QuantityValue:
    return replace(left + right, is_sum=True)


def _add_int(quantity: QuantityValue, number: int) -> QuantityValue:
    return _add(quantity, QuantityValue(number, 0))


def _subtract(left: QuantityValue, right: QuantityValue) -> QuantityValue:
    if right.number == INT64_MIN and not right.is_large:
        # The server negates it without looking, which changes nothing.
        wrapped = left + right
        exact = left.exact - right.exact
        return replace(_large(exact) if wrapped.is_large else wrapped, is_sum=True)
    return _add(left, -right)


QUANTITIES: Final[Library] = {
    "quantity": (overload("string_to_quantity", "(string) -> quantity", parse_quantity),),
    "isQuantity": (overload("is_quantity_string", "(string) -> bool", _is_quantity),),
    "sign": (overload("quantity_sign", "(quantity) -> int", _sign),),
    "isGreaterThan": (
        overload(
            "quantity_is_greater_than",
            "quantity.(quantity) -> bool",
            lambda left, right: left.exact > right.exact,
        ),
    ),
    "isLessThan": (
        overload(
            "quantity_is_less_than",
            "quantity.(quantity) -> bool",
            lambda left, right: left.exact < right.exact,
        ),
    ),
    "compareTo": (overload("quantity_compare_to", "quantity.(quantity) -> int", _compare),),
    "asApproximateFloat": (overload("quantity_get_float", "quantity.() -> double", _as_float),),
    "asInteger": (overload("quantity_get_int", "quantity.() -> int", _as_integer),),
    "isInteger": (
        overload(
            "quantity_is_integer", "quantity.() -> bool", lambda one: one.integer() is not None
        ),
    ),
    "add": (
        overload("quantity_add", "quantity.(quantity) -> quantity", _add),
        overload("quantity_add_int", "quantity.(int) -> quantity", _add_int),
    ),
    "sub": (
        overload("quantity_sub", "quantity.(quantity) -> quantity", _subtract),
        overload(
            "quantity_sub_int",
            "quantity.(int) -> quantity",
            lambda quantity, number: _subtract(quantity, QuantityValue(number, 0)),
        ),
    ),
}
"""The library."""
