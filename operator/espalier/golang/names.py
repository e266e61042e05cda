"""
Names as Kubernetes wants them: labels, subdomains, qualified names. Texts, not findings.
"""

import re

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_DNS1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_MAX_LABEL_BYTES, _MAX_SUBDOMAIN_BYTES = 63, 253

_ALPHANUMERIC_ENDS = "must start and end with an alphanumeric character"
_SUBDOMAIN_DETAIL = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters,"
    f" '-' or '.', and {_ALPHANUMERIC_ENDS} (e.g. 'example.com',"
    f" regex used for validation is '{_SUBDOMAIN}')"
)
_LABEL_DETAIL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-',"
    f" and {_ALPHANUMERIC_ENDS} (e.g. 'my-name',  or '123-abc',"
    f" regex used for validation is '{_LABEL}')"
)
_DNS1035_DETAIL = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an"
    " alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123',"
    f" regex used for validation is '{_DNS1035}')"
)
_KEY_DETAIL = (
    f"must consist of alphanumeric characters, '-', '_' or '.', and {_ALPHANUMERIC_ENDS}"
    " (e.g. 'MyName',  or 'my.name',  or '123-abc',"
    f" regex used for validation is '{_KEY}')"
)
_VALUE_DETAIL = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or"
    f" '.', and {_ALPHANUMERIC_ENDS} (e.g. 'MyValue',  or 'my_value',  or '12345',"
    f" regex used for validation is '({_KEY})?')"
)


def bytes_of(text: str) -> int:
    """
    Count the bytes of a text in UTF-8, as Go's ``len`` does.
    """
    return len(text.encode("utf-8", "surrogatepass"))


def dns1035_label_errors(text: str) -> list[str]:
    """
    Return why a text is no DNS-1035 label; empty if it is one.

    Source:
        apimachinery, ``pkg/util/validation/validation.go``, ``IsDNS1035Label``.
    """
    errors = _too_long(text, _MAX_LABEL_BYTES, unit="characters")
    if not re.fullmatch(_DNS1035, text):
        errors.append(_DNS1035_DETAIL)
    return errors


def dns1123_label_errors(text: str) -> list[str]:
    """
    Return why a text is no DNS-1123 label; empty if it is one.

    Source:
        apimachinery, ``pkg/util/validation/validation.go``, ``IsDNS1123Label``.
    """
    errors = _too_long(text, _MAX_LABEL_BYTES, unit="characters")
    if not re.fullmatch(_LABEL, text):
        is_subdomain = re.fullmatch(_SUBDOMAIN, text) is not None
        errors.append("must not contain dots" if is_subdomain else _LABEL_DETAIL)
    return errors


def dns1123_subdomain_errors(text: str) -> list[str]:
    """
    Return why a text is no DNS-1123 subdomain; empty if it is one.

    Source:
        apimachinery, ``pkg/util/validation/validation.go``, ``IsDNS1123Subdomain``.
    """
    return _subdomain_errors(text, unit="characters")


def _subdomain_errors(text: str, *, unit: str) -> list[str]:
    errors = _too_long(text, _MAX_SUBDOMAIN_BYTES, unit=unit)
    if not re.fullmatch(_SUBDOMAIN, text):
        errors.append(_SUBDOMAIN_DETAIL)
    return errors


def qualified_name_errors(text: str) -> list[str]:
    """
    Return why a text cannot be the key of a label; empty if it can.

    Source:
        apimachinery, ``pkg/api/validate/content/kube.go``, ``IsLabelKey``.
    """
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        optional = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {_KEY_DETAIL}{optional}"]
    errors: list[str] = []
    if slash and not prefix:
        errors.append("prefix part must be non-empty")
    elif slash:
        errors += [f"prefix part {error}" for error in _subdomain_errors(prefix, unit="bytes")]
    if not name:
        errors.append("name part must be non-empty")
    else:
        errors += [f"name part {error}" for error in _too_long(name, _MAX_LABEL_BYTES)]
    if not re.fullmatch(_KEY, name):
        errors.append(f"name part {_KEY_DETAIL}")
    return errors


def label_value_errors(text: str) -> list[str]:
    """
    Return why a text cannot be the value of a label; empty if it can.

    Source:
        apimachinery, ``pkg/api/validate/content/kube.go``, ``IsLabelValue``.
    """
    errors = _too_long(text, _MAX_LABEL_BYTES)
    if not re.fullmatch(f"({_KEY})?", text):
        errors.append(_VALUE_DETAIL)
    return errors


def path_segment_errors(text: str, *, is_prefix: bool) -> list[str]:
    """
    Return why a text cannot be a segment of a path, or begin one; empty if it can.

    Source:
        apimachinery, ``pkg/api/validate/content/path.go``.
    """
    if not is_prefix and text in (".", ".."):
        return [f"may not be '{text}'"]
    return [f"may not contain '{char}'" for char in "/%" if char in text]


def _too_long(text: str, max_bytes: int, *, unit: str = "bytes") -> list[str]:
    # The older of the server's functions write characters, though they count bytes as well.
    return [f"must be no more than {max_bytes} {unit}"] if bytes_of(text) > max_bytes else []
