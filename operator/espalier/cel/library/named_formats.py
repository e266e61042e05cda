"""
Formats that have names: ``format.dns1123Label().validate(self.name)``.

Source:
    apiserver, ``pkg/cel/library/format.go``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from espalier.cel.equality import opaque_equality
from espalier.cel.signatures import Library, Overload, overload
from espalier.cel.types import FORMAT, CelType
from espalier.cel.values import NONE, ListValue, Opaque, Optional, Value, some
from espalier.golang.names import (
    dns1035_label_errors,
    dns1123_label_errors,
    dns1123_subdomain_errors,
    label_value_errors,
    qualified_name_errors,
)
from espalier.golang.strfmt import predicate_of
from espalier.golang.urls import UrlError, parse_request_uri


@dataclass(frozen=True, slots=True)
class FormatValue(Opaque):
    """
    A format.

    Attributes:
        errors: Returns why a text is not of the format.
        max_pattern_length: By which the costs are reckoned.
    """

    name: str
    errors: Callable[[str], list[str]]
    max_pattern_length: int
    type: ClassVar[CelType] = FORMAT

    def is_equal(self, other: Value) -> bool:
        """
        Compare with another format.
        """
        return opaque_equality(self, other)


def _prefix(check: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    # What a prefix ends with is masked, for something will follow it.
    def errors(text: str) -> list[str]:
        return check(f"{text[:-2]}a" if len(text) > 1 and text.endswith("-") else text)

    return errors


def _of_schema(name: str, detail: str) -> Callable[[str], list[str]]:
    predicate = predicate_of(name)

    def errors(text: str) -> list[str]:
        return [] if predicate is None or predicate(text) else [detail]

    return errors


def _uri_errors(text: str) -> list[str]:
    try:
        parse_request_uri(text)
    except UrlError as error:
        return [str(error)]
    return []


_LABEL, _SUBDOMAIN, _VALUE, _URI, _UUID, _BYTE, _TIME = 30, 60, 40, 1103, 70, 84, 71
_FORMATS: Final[Mapping[str, FormatValue]] = {
    "dns1123Label": FormatValue("DNS1123Label", dns1123_label_errors, _LABEL),
    "dns1123Subdomain": FormatValue("DNS1123Subdomain", dns1123_subdomain_errors, _SUBDOMAIN),
    "dns1035Label": FormatValue("DNS1035Label", dns1035_label_errors, _LABEL),
    "qualifiedName": FormatValue("QualifiedName", qualified_name_errors, _SUBDOMAIN),
    "dns1123LabelPrefix": FormatValue("DNS1123LabelPrefix", _prefix(dns1123_label_errors), _LABEL),
    "dns1123SubdomainPrefix": FormatValue(
        "DNS1123SubdomainPrefix", _prefix(dns1123_subdomain_errors), _SUBDOMAIN
    ),
    "dns1035LabelPrefix": FormatValue("DNS1035LabelPrefix", _prefix(dns1035_label_errors), _LABEL),
    "labelValue": FormatValue("LabelValue", label_value_errors, _VALUE),
    "uri": FormatValue("URI", _uri_errors, _URI),
    "uuid": FormatValue("uuid", _of_schema("uuid", "does not match the UUID format"), _UUID),
    "byte": FormatValue("byte", _of_schema("byte", "invalid base64"), _BYTE),
    "date": FormatValue("date", _of_schema("date", "invalid date"), _TIME),
    "datetime": FormatValue("datetime", _of_schema("datetime", "invalid datetime"), _TIME),
}


def _named(name: str) -> Optional:
    found = _FORMATS.get(name)
    return NONE if found is None else some(found)


def _validate(format_: FormatValue, text: str) -> Optional:
    found = format_.errors(text)
    return some(ListValue([*found])) if found else NONE


def _constant(name: str, format_: FormatValue) -> tuple[Overload, ...]:
    return (overload(f"format.{name}", "() -> format", lambda: format_),)


FORMATS: Final[Library] = {
    **{f"format.{name}": _constant(name, format_) for name, format_ in _FORMATS.items()},
    "validate": (
        overload("format-validate", "format.(string) -> optional(list(string))", _validate),
    ),
    "format.named": (overload("format-named", "(string) -> optional(format)", _named),),
}
"""The library."""
