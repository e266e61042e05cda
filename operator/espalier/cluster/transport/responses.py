"""
Turn responses of the API server into our errors. Pure.

The server's messages are kept, without values of objects and without what rules, policies and
webhooks make of them: those must not appear in conditions, Events and logs. ``text_of`` returns a
message as it came, for a user who asks for it on the command line.
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
from espalier.cluster.transport.redaction import (
    on_one_line,
    place_of,
    shortened,
    without_values,
)
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
# Responses with a 5xx status that a retry cannot change.
_LASTING = frozenset({HTTPStatus.NOT_IMPLEMENTED, HTTPStatus.HTTP_VERSION_NOT_SUPPORTED})

_STORAGE_KEY = re.compile(r"\bKey: (/[^\s,]+)")
# The messages of servers whose Status has no reason for this case.
_UNDECODABLE = re.compile(
    r"StorageError: corrupt object|object not decodable|data from the storage is not transformable"
    r"|request to convert CR from an invalid group/version"
)
_CONVERSION = "conversion webhook for "
# A denial by admission, with any status. It must be at the start of the message, since a text in an
# object may look the same.
# The message of a status 500 that etcd, or its client, causes: a retry sends the same object.
_TOO_LARGE = re.compile(
    r"etcdserver: request is too large|trying to send message larger than max \("
)

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
    A ``meta/v1`` Status object, with the fields that are used here.
    """

    message: str = ""
    reason: str = ""
    code: int = 0
    details: _Details | None = None
    metadata: _StatusMetadata | None = None

    @property
    def causes(self) -> list[_Cause]:
        """
        The causes; may be empty.
        """
        return (self.details.causes or []) if self.details else []


_status_decoder = msgspec.json.Decoder(Status)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedAction:
    """
    The verb and resource of a request, for the messages of errors.

    Attributes:
        verb: The verb as RBAC names it.
        resource: ``widgets.example.com``, with the object's name if it is known.
    """

    verb: str
    resource: str


class _Facts(TypedDict):
    """
    The fields that all errors have.
    """

    verb: str
    resource: str
    reason: str
    detail: str


def read_status(body: bytes) -> Status:
    """
    Read a Status object; return an empty one if the body is anything else.

    Another body may come from a proxy, so that its text is not repeated.
    """
    try:
        return _status_decoder.decode(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return Status()


def text_of(body: bytes) -> str:
    """
    Return the server's own text of a response, on one line; empty if there is none.
    """
    reply = read_status(body)
    texts = [reply.message, *(f"{cause.field}: {cause.message}" for cause in reply.causes)]
    return _cut(on_one_line("; ".join(filter(None, dict.fromkeys(texts)))))


def error_of(
    attempt: RequestedAction, status: int, body: bytes, *, retry_after_seconds: float | None = None
) -> ClusterError:
    """
    Return the error for a response that is not a success.

    Args:
        attempt: The verb and resource of the request.
        status: The HTTP status.
        body: The part of the body that was read.
        retry_after_seconds: The header's value; None uses the value in the Status.

    Returns:
        The error, not raised.
    """
    reply = read_status(body)
    code = status or reply.code
    facts: _Facts = {
        "verb": attempt.verb,
        "resource": attempt.resource,
        "reason": reply.reason or _phrase(code),
        "detail": _detail(reply),
    }
    namespace = _namespace_gone(code, reply) if attempt.verb == "create" else ""
    if namespace:
        return NamespaceGoneError(**facts, status=code, namespace=namespace)
    # Admission may deny with any status, but 429 means that a retry may succeed.
    is_denied = code != HTTPStatus.TOO_MANY_REQUESTS and _DENIAL.match(reply.message) is not None
    special = None if is_denied else _special(code, reply, facts, retry_after_seconds)
    causes = () if is_denied else tuple(_texts(reply.causes))
    return special or RejectedError(**facts, status=code, causes=causes)


def _special(
    code: int, reply: Status, facts: _Facts, retry_after_seconds: float | None
) -> ClusterError | None:
    """
    Return the error for a response that callers handle specially; None for a plain refusal.
    """
    if code == HTTPStatus.GONE or reply.reason in {"Expired", "Gone"}:
        token = reply.metadata.continue_token if reply.metadata else ""
        return ExpiredTokenError(**facts, status=code, fresh_token=token or None)
    if code == HTTPStatus.NOT_FOUND:
        is_object = reply.details is not None and bool(reply.details.name)
        return NotFoundError(**facts, status=code, is_object=is_object)
    if code in _NAMED:
        return _NAMED[code](**facts, status=code)
    # Checked before storage errors, since some servers report a failed conversion as one.
    if code >= HTTPStatus.INTERNAL_SERVER_ERROR and _CONVERSION in reply.message:
        refusal = refusal_in(reply.message)
        if refusal is None:
            return ConversionError(**facts, status=code, retry_after_seconds=retry_after_seconds)
        facts["detail"] = refusal
        keys = _storage_keys(facts["resource"], reply)
        return ConversionRefusedError(**facts, status=code, keys=keys)
    if _is_undecodable(code, reply):
        return UndecodableError(**facts, status=code, keys=_storage_keys(facts["resource"], reply))
    if _is_transient(code, reply):
        if retry_after_seconds is None and reply.details and reply.details.retry_after_seconds > 0:
            retry_after_seconds = reply.details.retry_after_seconds
        return TransientError(**facts, status=code, retry_after_seconds=retry_after_seconds)
    return None


def _is_transient(code: int, reply: Status) -> bool:
    if code == HTTPStatus.INTERNAL_SERVER_ERROR and _TOO_LARGE.search(reply.message):
        return False
    is_of_server = code >= HTTPStatus.INTERNAL_SERVER_ERROR and code not in _LASTING
    return code in _TRANSIENT or is_of_server


_NAMED: Mapping[int, type[ForbiddenError | ConflictError]] = {
    # The credential was renewed before, so a person must provide another one.
    HTTPStatus.UNAUTHORIZED: ForbiddenError,
    HTTPStatus.FORBIDDEN: ForbiddenError,
    HTTPStatus.CONFLICT: ConflictError,
}


def malformed(attempt: RequestedAction, detail: str) -> RejectedError:
    """
    Return the error for a successful response with an unexpected form.
    """
    return RejectedError(
        verb=attempt.verb, resource=attempt.resource, reason="MalformedAnswer", detail=detail
    )


def retry_after_seconds_of(value: str | None, *, now: datetime) -> float | None:
    """
    Read a ``Retry-After`` header: seconds or an HTTP date.

    Args:
        value: The header; None if it is absent.
        now: The server's time, if known.

    Returns:
        The seconds from now, never negative; None if the header is neither.

    Source:
        RFC 9110, section 10.2.3.
    """
    if value is None:
        return None
    if value.isascii() and value.isdigit():
        # More digits are no sensible pause, and int() refuses thousands of digits.
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


def _is_undecodable(code: int, reply: Status) -> bool:
    return code == HTTPStatus.INTERNAL_SERVER_ERROR and (
        reply.reason == "StorageReadError" or _UNDECODABLE.search(reply.message) is not None
    )


def _storage_keys(resource: str, reply: Status) -> tuple[str, ...]:
    named = [cause.field for cause in reply.causes if cause.field.startswith("/")]
    named += _STORAGE_KEY.findall(reply.message)
    # A list reports keys with the server's prefix (--etcd-prefix), a single read without it.
    plural, _, group = resource.partition(" ")[0].partition(".")
    root = f"/{group}/{plural}/"
    return tuple(dict.fromkeys(key[max(0, key.find(root)) :] for key in named))


def _namespace_gone(code: int, reply: Status) -> str:
    """
    Return the name of the namespace that is missing or being deleted; empty if there is none.
    """
    if reply.details is None:
        return ""
    if code == HTTPStatus.NOT_FOUND and reply.details.kind == "namespaces":
        return reply.details.name
    for cause in reply.causes:
        if cause.reason == _NAMESPACE_TERMINATING:
            found = _TERMINATING.search(cause.message)
            return found[1] if found else ""
    return ""


def _detail(reply: Status) -> str:
    denied = _DENIAL.match(reply.message)
    if denied is not None:
        # The rest is what a policy or a webhook made of the object.
        return _cut(on_one_line(denied[0]))
    if reply.reason != "Invalid":
        return _clean(reply.message)
    subject = reply.message.partition(" is invalid")[0] if " is invalid" in reply.message else ""
    texts = list(_texts(reply.causes))
    return _cut(
        f"{on_one_line(subject)} is invalid: {'; '.join(texts)}" if subject else "; ".join(texts)
    )


def _texts(causes: Iterable[_Cause]) -> Iterable[str]:
    for index, cause in enumerate(causes):
        if index == _MAX_CAUSES:
            yield "..."
            return
        yield _cut(place_of(cause.field, cause.message, reason=cause.reason))


def _clean(text: str) -> str:
    return _cut(on_one_line(without_values(text)))


def _cut(text: str) -> str:
    return shortened(text, _MAX_DETAIL_CHARACTERS)
