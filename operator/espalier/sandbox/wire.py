"""
Objects as JSON, and Status objects for errors.
"""

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import orjson

Object: TypeAlias = dict[str, Any]
"""
A decoded Kubernetes object. A client may send anything, so the types of its members are open.
"""


def encode(value: Any) -> bytes:
    """
    Return JSON as the API server stores it: compact, sorted keys, ``<``, ``>`` and ``&`` escaped.
    """
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)
    # These characters occur only in strings in JSON, so a plain replacement is correct.
    for char in b"<>&":
        if char in text:
            text = text.replace(bytes((char,)), b"\\u%04x" % char)
    return text


def decode(data: bytes) -> Any:
    """
    Decode JSON.

    Raises:
        orjson.JSONDecodeError: The data is not JSON.
    """
    return orjson.loads(data)


@dataclass(frozen=True, slots=True)
class Cause:
    """
    One field error of a Status: its reason, its text without the path, its path.
    """

    reason: str
    message: str
    field: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


@dataclass(unsafe_hash=True, kw_only=True)
class RequestRefusal(Exception):  # noqa: N818 - a response of the server, not an error in the sandbox
    """
    A request is refused with a Status object, or with plain text if there is no message.

    Attributes:
        details: The Status's ``details``; None leaves them out.
        metadata: The Status's ``metadata``, for a fresh continue token.
    """

    status: int
    message: str
    reason: str = ""
    details: Object | None = field(default=None, hash=False)
    metadata: Object = field(default_factory=dict, hash=False)

    def body(self) -> Object:
        """
        Return the Status object.
        """
        body: Object = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        body["code"] = self.status
        return body


def details_of(group: str, kind: str, name: str = "") -> Object:
    """
    Return the details of a Status without empty parts.
    """
    parts = {"name": name, "group": group, "kind": kind}
    return {key: value for key, value in parts.items() if value}


def qualified(group: str, kind: str) -> str:
    """
    Return a resource or a kind with its group: ``widgets.example.com``.
    """
    return f"{kind}.{group}" if group else kind


def not_found(group: str, plural: str, name: str) -> RequestRefusal:
    """
    Return the refusal for an object that does not exist.
    """
    return RequestRefusal(
        status=404,
        reason="NotFound",
        message=f'{qualified(group, plural)} "{name}" not found',
        details=details_of(group, plural, name),
    )


def terminating(group: str, plural: str, name: str, namespace: str) -> RequestRefusal:
    """
    Return the refusal for a create in a namespace that is being deleted.
    """
    causes = [
        {
            "reason": "NamespaceTerminating",
            "message": f"namespace {namespace} is being terminated",
            "field": "metadata.namespace",
        }
    ]
    return RequestRefusal(
        status=403,
        reason="Forbidden",
        message=f'{qualified(group, plural)} "{name}" is forbidden: unable to create new content'
        f" in namespace {namespace} because it is being terminated",
        details={**details_of(group, plural, name), "causes": causes},
    )


def already_exists(group: str, plural: str, name: str) -> RequestRefusal:
    """
    Return the refusal for a create of an object that exists.
    """
    return RequestRefusal(
        status=409,
        reason="AlreadyExists",
        message=f'{qualified(group, plural)} "{name}" already exists',
        details=details_of(group, plural, name),
    )


MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def conflict(group: str, plural: str, name: str, text: str = MODIFIED) -> RequestRefusal:
    """
    Return the refusal for a failed precondition.
    """
    return RequestRefusal(
        status=409,
        reason="Conflict",
        message=f'Operation cannot be fulfilled on {qualified(group, plural)} "{name}": {text}',
        details=details_of(group, plural, name),
    )


def invalid(group: str, kind: str, name: str, causes: list[Cause]) -> RequestRefusal:
    """
    Return the refusal for an invalid object.

    The message has equal errors only once; the list of causes has all of them.
    """
    texts = list(dict.fromkeys(str(cause) for cause in causes))
    text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    listed = [{"reason": c.reason, "message": c.message, "field": c.field} for c in causes]
    return RequestRefusal(
        status=422,
        reason="Invalid",
        message=f'{qualified(group, kind)} "{name}" is invalid: {text}',
        details={**details_of(group, kind, name), "causes": listed},
    )


def bad_request(message: str) -> RequestRefusal:
    """
    Return the refusal for an invalid request.
    """
    return RequestRefusal(status=400, reason="BadRequest", message=message)


def server_error(message: str) -> RequestRefusal:
    """
    Return the refusal for an internal error without a reason.
    """
    return RequestRefusal(status=500, message=message)


def corrupt(key: str, revision: int, text: str) -> RequestRefusal:
    """
    Return the refusal for stored bytes that cannot be decoded.
    """
    message = (
        f"StorageError: corrupt object, Code: 7, Key: {key}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: object not decodable revision={revision}: {text}"
    )
    return RequestRefusal(
        status=500,
        reason="InternalError",
        message=f"Internal error occurred: {message}",
        details={"causes": [{"message": message}]},
    )
