"""
What is wrong with a schema or a value, as a value: the API server's field errors.

A finding is never raised. Those who want to raise one put it into an error of
``espalier.errors``.
"""

import enum
from collections.abc import Iterable
from dataclasses import dataclass

import orjson

from espalier.paths import JSON, Path, render_path


class ErrorType(enum.Enum):
    """
    The kind of a field error; the value is the text that the API server prints.

    Source:
        apimachinery, ``pkg/util/validation/field/errors.go``, ``ErrorType.String``.
    """

    REQUIRED = "Required value"
    FORBIDDEN = "Forbidden"
    INVALID = "Invalid value"
    TYPE_INVALID = "Invalid value "
    NOT_SUPPORTED = "Unsupported value"
    DUPLICATE = "Duplicate value"
    TOO_LONG = "Too long"
    TOO_MANY = "Too many"
    TOO_FEW = "Too few"
    INTERNAL = "Internal error"


_WITHOUT_VALUE = frozenset(
    {ErrorType.REQUIRED, ErrorType.FORBIDDEN, ErrorType.TOO_LONG, ErrorType.INTERNAL}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldError:
    """
    One finding.

    Attributes:
        type: The kind of the error.
        path: Where, from the root that the caller chose.
        value: The offending value; printed for most kinds.
        detail: What is wrong, for people; may be empty.
        origin: The keyword or the rule that the finding comes from.
    """

    type: ErrorType
    path: Path
    value: JSON = None
    detail: str = ""
    origin: str = ""

    def __str__(self) -> str:
        return f"{render_path(self.path)}: {self.message}"

    @property
    def message(self) -> str:
        """
        The text without the path, as in a status cause.
        """
        text = self.type.value.rstrip()
        if self.type not in _WITHOUT_VALUE:
            text = f"{text}: {render_value(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text


def render_value(value: JSON) -> str:
    """
    Write a value as field errors do: strings quoted as in Go, the rest as compact JSON.

    Source:
        apimachinery, ``pkg/util/validation/field/errors.go``, ``Error.ErrorBody``.
    """
    if isinstance(value, str):
        return quote(value)
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    if isinstance(value, (dict, list)):
        return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return text


def quote(text: str) -> str:
    """
    Quote a string as Go's ``%q`` does.

    Source:
        Go, ``strconv.Quote``.
    """
    named = {'"': '\\"', "\\": "\\\\", "\a": "\\a", "\b": "\\b", "\f": "\\f"}
    named |= {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}
    parts = ['"']
    for char in text:
        code = ord(char)
        if char in named:
            parts.append(named[char])
        elif char.isprintable():
            parts.append(char)
        elif code < 0x80:  # noqa: PLR2004 - the end of ASCII
            parts.append(f"\\x{code:02x}")
        elif code < 0x10000:  # noqa: PLR2004 - the end of the basic plane
            parts.append(f"\\u{code:04x}")
        else:
            parts.append(f"\\U{code:08x}")
    return "".join(parts) + '"'


def aggregate(messages: Iterable[str]) -> str:
    """
    Join error texts as the API server does: duplicates once, several of them in brackets.

    Source:
        apimachinery, ``pkg/util/errors/errors.go``, ``aggregate.Error``.
    """
    unique = list(dict.fromkeys(messages))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"
