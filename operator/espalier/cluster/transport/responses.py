"""
What an answer of the API server means, as one of our errors. Pure.

The server's texts are handed on, but for the values that they repeat: what stands in an object must
not get into conditions, Events and logs by way of an error.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TypedDict

import msgspec

from espalier.cluster.transport.conversion_refusals import refusal_in
from espalier.cluster.transport.redaction import on_one_line, shortened, without_values
from espalier.errors import (
    ClusterError,
    ConflictError,
    ConversionError,
    ConversionRefusedError,
    ExpiredTokenError,
    ForbiddenError,
    NamespaceGoneError,
    NotFoundError,
    RejectedError,
    TransientError,
    UndecodableError,
)

_MAX_DETAIL_CHARACTERS = 1000
_MAX_CAUSES = 20

_TRANSIENT = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS})
# 5xx answers that say "never", not "not now".
_LASTING = frozenset({HTTPStatus.NOT_IMPLEMENTED, HTTPStatus.HTTP_VERSION_NOT_SUPPORTED})

_STORAGE_KEY = re.compile(r"\bKey: (/[^\s,]+)")
# What servers say whose Status has no reason of its own for it.
_UNDECODABLE = re.compile(
    r"StorageError: corrupt object|object not decodable|data from the storage is not transformable"
    r"|request to convert CR from an invalid group/version"
)
_CONVERSION = "conversion webhook for "
# An answer of admission's own, whatever status it chose: from the text's very beginning, so that
# nothing that merely stands in an object is taken for one.
_DENIAL = re.compile(
    r"(?:[^\s\"]{1,512}(?: \"[^\"\s]{1,253}\")? is forbidden: )?"
    r"(?:admission webhook \"[^\"\s]{1,253}\" denied the request"
    r"|ValidatingAdmissionPolicy '[^'\s]{1,253}'(?: with binding '[^'\s]{1,253}')? denied request)"
)
_NAMESPACE_TERMINATING = "NamespaceTerminating"
_TERMINATING = re.compile(r"namespace (\S{1,63}) is being terminated")


class _Cause(msgspec.Struct):
    reason: str = ""
    message: str = ""
    field: str = ""


class _Details(msgspec.Struct, rename="camel"):
    name: str = ""
    kind: str = ""
    causes: list[_Cause] | None = None
    retry_after_seconds: float = 0


class _StatusMetadata(msgspec.Struct):
    continue_token: str = msgspec.field(default="", name="continue")


class Status(msgspec.Struct):
    """
    A ``meta/v1`` Status object, as far as it is of use.
    """

    message: str = ""
    reason: str = ""
    code: int = 0
    details: _Details | None = None
    metadata: _StatusMetadata | None = None

    @property
    def causes(self) -> list[_Cause]:
        """
        The single causes; may be empty.
        """
        return (self.details.causes or []) if self.details else []


_status_decoder = msgspec.json.Decoder(Status)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedAction:
    """
    What was tried, for the texts of errors.

    Attributes:
        verb: As RBAC names it.
        resource: ``widgets.example.com``, with the object's name where it is known.
    """

    verb: str
    resource: str


class _Facts(TypedDict):
    """
    What all errors have.
    """

    verb: str
    resource: str
    reason: str
    detail: str


def read_status(body: bytes) -> Status:
    """
    Read a Status object; an empty one, if the body is anything else.

    Whatever is no Status may have come from a proxy, and is not repeated.
    """
    try:
        return _status_decoder.decode(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return Status()


def error_of(
    attempt: RequestedAction, status: int, body: bytes, *, retry_after_seconds: float | None = None
) -> ClusterError:
    """
    Make the error of an answer that is no success.

    Args:
        attempt: What was tried.
        status: The HTTP status.
        body: As much of the answer as was read.
        retry_after_seconds: From the header; else the Status's own is taken.

    Returns:
        The error, not raised.
    """
    said = read_status(body)
    code = status or said.code
    facts: _Facts = {
        "verb": attempt.verb,
        "resource": attempt.resource,
        "reason": said.reason or _phrase(code),
        "detail": _speakable(said),
    }
    namespace = _namespace_gone(code, said) if attempt.verb == "create" else ""
    if namespace:
        return NamespaceGoneError(**facts, status=code, namespace=namespace)
    # Admission chooses any status for what it denies; one of them asks to come again later.
    is_denied = code != HTTPStatus.TOO_MANY_REQUESTS and _DENIAL.match(said.message) is not None
    special = None if is_denied else _special(code, said, facts, retry_after_seconds)
    return special or RejectedError(**facts, status=code, causes=tuple(_texts(said.causes)))


def _special(
    code: int, said: Status, facts: _Facts, retry_after_seconds: float | None
) -> ClusterError | None:
    """
    Make the error of an answer that callers tell from a plain refusal; None of such a one.
    """
    if code == HTTPStatus.GONE or said.reason in {"Expired", "Gone"}:
        token = said.metadata.continue_token if said.metadata else ""
        return ExpiredTokenError(**facts, status=code, fresh_token=token or None)
    if code == HTTPStatus.NOT_FOUND:
        is_object = said.details is not None and bool(said.details.name)
        return NotFoundError(**facts, status=code, is_object=is_object)
    if code in _NAMED:
        return _NAMED[code](**facts, status=code)
    # Before the next one: some servers tell it as a fault of what is stored.
    if code >= HTTPStatus.INTERNAL_SERVER_ERROR and _CONVERSION in said.message:
        told = refusal_in(said.message)
        if told is None:
            return ConversionError(**facts, status=code, retry_after_seconds=retry_after_seconds)
        facts["detail"] = told
        keys = _storage_keys(facts["resource"], said)
        return ConversionRefusedError(**facts, status=code, keys=keys)
    if _is_undecodable(code, said):
        return UndecodableError(**facts, status=code, keys=_storage_keys(facts["resource"], said))
    if code in _TRANSIENT or (code >= HTTPStatus.INTERNAL_SERVER_ERROR and code not in _LASTING):
        if retry_after_seconds is None and said.details and said.details.retry_after_seconds > 0:
            retry_after_seconds = said.details.retry_after_seconds
        return TransientError(**facts, status=code, retry_after_seconds=retry_after_seconds)
    return None


_NAMED: Mapping[int, type[ForbiddenError | ConflictError]] = {
    # The credentials were renewed before; a person must give others.
    HTTPStatus.UNAUTHORIZED: ForbiddenError,
    HTTPStatus.FORBIDDEN: ForbiddenError,
    HTTPStatus.CONFLICT: ConflictError,
}


def malformed(attempt: RequestedAction, detail: str) -> RejectedError:
    """
    Make the error of an answer that says success and is not what the API promises.
    """
    return RejectedError(
        verb=attempt.verb, resource=attempt.resource, reason="MalformedAnswer", detail=detail
    )


def retry_after_seconds_of(value: str | None, *, now: datetime) -> float | None:
    """
    Read a ``Retry-After`` header: seconds or an HTTP date.

    Args:
        value: The header, None if it is not there.
        now: The server's own time where known.

    Returns:
        Seconds from now, never negative; None for what is neither.

    Source:
        RFC 9110, section 10.2.3.
    """
    if value is None:
        return None
    if value.isascii() and value.isdigit():
        # Longer ones are no waiting times; int() refuses thousands of digits.
        return float(value) if len(value) < 10 else None  # noqa: PLR2004 - thirty years
    try:
        date = parsedate_to_datetime(value)
        return max(0.0, (date - now).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None


def _phrase(code: int) -> str:
    try:
        return HTTPStatus(code).phrase.replace(" ", "")
    except ValueError:
        return "UnknownAnswer"


def _is_undecodable(code: int, said: Status) -> bool:
    return code == HTTPStatus.INTERNAL_SERVER_ERROR and (
        said.reason == "StorageReadError" or _UNDECODABLE.search(said.message) is not None
    )


def _storage_keys(resource: str, said: Status) -> tuple[str, ...]:
    named = [cause.field for cause in said.causes if cause.field.startswith("/")]
    named += _STORAGE_KEY.findall(said.message)
    # Lists name them with the server's prefix (--etcd-prefix), single reads without it.
    plural, _, group = resource.partition(" ")[0].partition(".")
    root = f"/{group}/{plural}/"
    return tuple(dict.fromkeys(key[max(0, key.find(root)) :] for key in named))


def _namespace_gone(code: int, said: Status) -> str:
    """
    Name the namespace that is missing, or that is about to be deleted.
    """
    if said.details is None:
        return ""
    if code == HTTPStatus.NOT_FOUND and said.details.kind == "namespaces":
        return said.details.name
    for cause in said.causes:
        if cause.reason == _NAMESPACE_TERMINATING:
            found = _TERMINATING.search(cause.message)
            return found[1] if found else ""
    return ""


def _speakable(said: Status) -> str:
    if said.reason != "Invalid" or _DENIAL.match(said.message):
        return _clean(said.message)
    subject = said.message.partition(" is invalid")[0] if " is invalid" in said.message else ""
    texts = list(_texts(said.causes))
    return _cut(
        f"{on_one_line(subject)} is invalid: {'; '.join(texts)}" if subject else "; ".join(texts)
    )


def _texts(causes: Iterable[_Cause]) -> Iterable[str]:
    for index, cause in enumerate(causes):
        if index == _MAX_CAUSES:
            yield "..."
            return
        text = _clean(cause.message) or cause.reason
        yield _cut(f"{on_one_line(cause.field)}: {text}" if cause.field else text)


def _clean(text: str) -> str:
    return _cut(on_one_line(without_values(text)))


def _cut(text: str) -> str:
    return shortened(text, _MAX_DETAIL_CHARACTERS)
