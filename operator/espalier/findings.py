"""
Findings: the API server's field errors, as values.

A finding is never raised. An error of ``espalier.errors`` may carry findings.
"""

import enum
from dataclasses import dataclass
from types import MappingProxyType
from typing import Self

from espalier.golang.printing import render_value
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


class Omitted(str):
    """
    A text in place of a value that the server does not print.
    """

    __slots__ = ()


class Computed(str):
    """
    A detail that an expression made of an object's values.

    Attributes:
        rule_number: Which rule of its node it is, from 1.
        node_path: Where the rule is.
        rule_text: The rule, as the schema has it.
        cause: Why the rule could not be evaluated, without values; empty if it could.
    """

    __slots__ = ("cause", "node_path", "rule_number", "rule_text")

    rule_number: int
    node_path: Path
    rule_text: str
    cause: str

    def __new__(
        cls, text: str, *, rule_number: int, node_path: Path, rule_text: str = "", cause: str = ""
    ) -> Self:
        """
        Make the text.
        """
        made = super().__new__(cls, text)
        made.rule_number = rule_number
        made.node_path = node_path
        made.rule_text = rule_text
        made.cause = cause
        return made

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, object]]:
        """
        Copy and pickle the attributes, too.
        """
        return (str(self),), {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldError:
    """
    One finding: what is wrong with a value, and where.

    Attributes:
        type: The kind of the error.
        path: The path of the value, from the root that the caller chose.
        value: The offending value; printed for most kinds.
        detail: What is wrong, as text for people; may be empty.
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
        The message without the path, as a cause of a ``Status`` has it.
        """
        text = self.type.value.rstrip()
        if self.type not in _WITHOUT_VALUE and not isinstance(self.value, Omitted):
            text = f"{text}: {render_value(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text

    @property
    def reason(self) -> str:
        """
        The reason of a cause of a ``Status``: ``FieldValueInvalid``, for example.

        Source:
            apimachinery, ``pkg/util/validation/field/errors.go``, ``ErrorType``.
        """
        return _REASONS[self.type]


_REASONS = MappingProxyType(
    {
        ErrorType.REQUIRED: "FieldValueRequired",
        ErrorType.FORBIDDEN: "FieldValueForbidden",
        ErrorType.INVALID: "FieldValueInvalid",
        ErrorType.TYPE_INVALID: "FieldValueTypeInvalid",
        ErrorType.NOT_SUPPORTED: "FieldValueNotSupported",
        ErrorType.DUPLICATE: "FieldValueDuplicate",
        ErrorType.TOO_LONG: "FieldValueTooLong",
        ErrorType.TOO_MANY: "FieldValueTooMany",
        ErrorType.TOO_FEW: "FieldValueTooFew",
        ErrorType.INTERNAL: "InternalError",
    }
)
