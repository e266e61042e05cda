"""
Regular expressions in CEL: RE2's, and the errors of Go.

Source:
    apiserver, ``pkg/cel/library/regex.go``.
"""

import functools
from typing import Final

import re2

from espalier.cel.signatures import Library, overload
from espalier.cel.values import CelError, ListValue
from espalier.golang.regexps import pattern_error


@functools.lru_cache(maxsize=1024)
def compiled(pattern: str) -> "re2._Regexp":
    """
    Compile a pattern.

    Raises:
        CelError: It is none; the message is Go's.
    """
    error = pattern_error(pattern)
    if error is not None:
        raise CelError(error)
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)


def _compiled_or_illegal(pattern: str) -> "re2._Regexp":
    try:
        return compiled(pattern)
    except CelError as error:
        raise CelError(f"Illegal regex: {error.text}") from None


def _find(text: str, pattern: str) -> str:
    match = _compiled_or_illegal(pattern).search(text)
    return match.group() if match else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> ListValue:
    found: list[str] = []
    # Go knows no empty match right after another one.
    end = -1
    for match in _compiled_or_illegal(pattern).finditer(text):
        if 0 <= limit <= len(found):
            break
        if match.end() > match.start() or match.start() != end:
            found.append(match.group())
        end = match.end()
    return ListValue([*found])


REGEXES: Final[Library] = {
    "find": (overload("string_find_string", "string.(string) -> string", _find),),
    "findAll": (
        overload("string_find_all_string", "string.(string) -> list(string)", _find_all),
        overload("string_find_all_string_int", "string.(string, int) -> list(string)", _find_all),
    ),
}
"""The library."""
