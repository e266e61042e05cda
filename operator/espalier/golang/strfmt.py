"""
The formats of strings: which texts API servers take for an address, a date, a duration and so on.

What the names promise matters less than what the servers' parsers do; oddities are theirs.
"""

import functools
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from espalier.golang.durations import DurationError, parse_worded_duration
from espalier.golang.names import bytes_of
from espalier.golang.rfc3339 import DATE, TimeError, parse_time
from espalier.lazy import lazy_pattern

if TYPE_CHECKING:
    import re2

_MAX_HOSTNAME_BYTES, _MAX_HOSTNAME_LABEL_BYTES = 255, 63
_MAX_SHORT_NAME_BYTES, _MAX_LONG_NAME_BYTES = 63, 253
_SHORTEST_DATE_TIME_BYTES = 4
_LARGEST_DIGIT = 9
_SSN_BYTES = 11


def predicate_of(name: str) -> Callable[[str], bool] | None:
    """
    Find the check of a format; dashes in its name do not matter.
    """
    return FORMATS.get(name.replace("-", ""))


def _of_addresses(name: str) -> Callable[[str], bool]:
    def ask(text: str) -> bool:
        from espalier.golang import addresses  # noqa: PLC0415 - few schemas have such formats

        found: bool = getattr(addresses, name)(text)
        return found

    return ask


def _matching(pattern: str, *, flags: int = 0) -> Callable[[str], bool]:
    compiled = lazy_pattern(pattern, flags)
    return lambda text: compiled().fullmatch(text) is not None


_CLOCK = lazy_pattern(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})")


# Usual dates, on a day that every month has. All others are left to the reader.
_PLAIN_DATE = lazy_pattern("[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])")


def _is_date(text: str) -> bool:
    if _PLAIN_DATE().fullmatch(text):
        return True
    try:
        parse_time(text, DATE)
    except TimeError:
        return False
    return True


def _is_date_time(text: str) -> bool:
    # The server splits at every "t" and looks at the first two pieces only.
    date, *rest = text.lower().split("t")
    if bytes_of(text) < _SHORTEST_DATE_TIME_BYTES or not rest or not _is_date(date):
        return False
    match = _CLOCK().fullmatch(rest[0])
    if match is None:
        return False
    hours, minutes, seconds = match.groups()
    return hours <= "23" and minutes <= "59" and seconds <= "59"


def _is_duration(text: str) -> bool:
    try:
        parse_worded_duration(text)
    except DurationError:
        return False
    return True


_DIGITS_OF_CARDS = lazy_pattern(
    r"4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9]{2})[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11}"
)


def _is_credit_card(text: str) -> bool:
    digits = re.sub("[^0-9]+", "", text)
    if not _DIGITS_OF_CARDS().fullmatch(digits):
        return False
    doubled = [int(digit) * (1 + at % 2) for at, digit in enumerate(reversed(digits))]
    return sum(n - _LARGEST_DIGIT if n > _LARGEST_DIGIT else n for n in doubled) % 10 == 0


def _without_separators(text: str) -> str:
    return re.sub(r"[\t\n\f\r -]+", "", text)


def _is_isbn10(text: str) -> bool:
    digits = _without_separators(text)
    if not re.fullmatch("[0-9]{9}[0-9X]", digits):
        return False
    numbers = [10 if digit == "X" else int(digit) for digit in digits]
    return sum(at * number for at, number in enumerate(numbers, 1)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = _without_separators(text)
    if not re.fullmatch("[0-9]{13}", digits):
        return False
    return sum(int(digit) * (1 + 2 * (at % 2)) for at, digit in enumerate(digits)) % 10 == 0


def _is_ssn(text: str) -> bool:
    matches = re.fullmatch("[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}", text) is not None
    return matches and len(text) == _SSN_BYTES


_NAME_CHAR = r"[a-zA-Z0-9\p{S}\p{L}]"
_INNER_CHAR = r"[-a-zA-Z0-9\p{S}\p{L}]"
_ONE_LABEL = rf"{_NAME_CHAR}(?:-?{_NAME_CHAR}*)?"
_DOTTED_LABEL = rf"{_NAME_CHAR}(?:{_INNER_CHAR}*{_NAME_CHAR})?\."
# Counts of characters are left to the limit of a label's bytes: they would make it large.


@functools.cache
def _hostname() -> "re2._Regexp":
    import re2  # noqa: PLC0415 - few schemas have patterns

    return re2.compile(rf"(?:{_ONE_LABEL}|(?:{_DOTTED_LABEL})+[a-zA-Z\p{{L}}]{{2,}})")


def _is_hostname(text: str) -> bool:
    if bytes_of(text) > _MAX_HOSTNAME_BYTES or _has_surrogates(text):
        return False
    if any(bytes_of(label) > _MAX_HOSTNAME_LABEL_BYTES for label in text.split(".")):
        return False
    return _hostname().fullmatch(text) is not None


def _has_surrogates(text: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in text)


_SHORT_NAME = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"


def _is_short_name(text: str) -> bool:
    return len(text) <= _MAX_SHORT_NAME_BYTES and re.fullmatch(_SHORT_NAME, text) is not None


def _is_long_name(text: str) -> bool:
    matches = re.fullmatch(rf"{_SHORT_NAME}(?:\.{_SHORT_NAME})*", text) is not None
    return matches and len(text) <= _MAX_LONG_NAME_BYTES


def _uuid(third: str, fourth: str) -> Callable[[str], bool]:
    digit = "[0-9a-f]"
    groups = (f"{digit}{{8}}", f"{digit}{{4}}", third, fourth, f"{digit}{{12}}")
    return _matching("-?".join(groups), flags=re.IGNORECASE | re.ASCII)


_HEX4, _HEX3 = "[0-9a-f]{4}", "[0-9a-f]{3}"
_BYTE_OF_COLOR = "(?:0|[1-9][0-9]?|1[0-9]{2}|2[0-4][0-9]|25[0-5])"
_COLOR_PART = rf"[\t\n\f\r ]*{_BYTE_OF_COLOR}[\t\n\f\r ]*"
_BASE64 = "[A-Za-z0-9+/]"

FORMATS: Mapping[str, Callable[[str], bool]] = MappingProxyType(
    {
        "bsonobjectid": _matching("[0-9a-fA-F]{24}"),
        "uri": _of_addresses("is_uri"),
        "email": _of_addresses("is_email"),
        "hostname": _is_hostname,
        "ipv4": _of_addresses("is_ipv4"),
        "ipv6": _of_addresses("is_ipv6"),
        "cidr": _of_addresses("is_cidr"),
        "mac": _of_addresses("is_mac"),
        "uuid": _uuid(_HEX4, _HEX4),
        "uuid3": _uuid(f"3{_HEX3}", _HEX4),
        "uuid4": _uuid(f"4{_HEX3}", f"[89ab]{_HEX3}"),
        "uuid5": _uuid(f"5{_HEX3}", f"[89ab]{_HEX3}"),
        "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
        "isbn10": _is_isbn10,
        "isbn13": _is_isbn13,
        "creditcard": _is_credit_card,
        "ssn": _is_ssn,
        "hexcolor": _matching("#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
        "rgbcolor": _matching(rf"rgb\({_COLOR_PART},{_COLOR_PART},{_COLOR_PART}\)"),
        "byte": _matching(
            f"(?:{_BASE64}{{4}})*(?:{_BASE64}{{2}}==|{_BASE64}{{3}}=|{_BASE64}{{4}})"
        ),
        "password": lambda _: True,
        "date": _is_date,
        "duration": _is_duration,
        "datetime": _is_date_time,
        "k8sshortname": _is_short_name,
        "k8slongname": _is_long_name,
    }
)
"""
Which strings are of a format, by its name without dashes.

Source:
    kube-openapi, ``pkg/validation/strfmt``; apiextensions-apiserver,
    ``pkg/apiserver/validation/formats.go``.
"""
