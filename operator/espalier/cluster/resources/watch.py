"""
Watch objects: one long response with one JSON event in each line.
"""

from collections.abc import AsyncIterator

import msgspec

from espalier.cluster.transport import responses as answers
from espalier.cluster.transport.client import ApiRequest, Client, decode
from espalier.cluster.transport.json_codec import decode_json
from espalier.cluster.transport.paths import collection_path
from espalier.cluster.transport.session import WATCH_SILENCE_SECONDS
from espalier.engine.ports import Endpoint, WatchEvent
from espalier.errors import ClusterError, RejectedError, TransientError
from espalier.paths import JSON

WATCH_SECONDS = 300
"""The server ends a watch after this time, so that a new one may reach another server."""

MAX_LINE_BYTES = 16 * 1024 * 1024
"""The longest event; it has one object of at most about 3 MiB."""


class _EventMetadata(msgspec.Struct, rename="camel"):
    resource_version: str = ""


class _EventHead(msgspec.Struct):
    metadata: _EventMetadata


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


_event = msgspec.json.Decoder(_Event)
_head = msgspec.json.Decoder(_EventHead)


async def watch(
    client: Client,
    resource: Endpoint,
    *,
    resource_version: str,
    label_selector: str = "",
    max_line_bytes: int = MAX_LINE_BYTES,
) -> AsyncIterator[WatchEvent]:
    """
    Watch the objects of a resource, until the server closes the stream.

    Args:
        resource_version: Changes after this version are returned; empty for all objects as they
            are, and then their changes.
        label_selector: Only objects with these labels; empty for all.
        max_line_bytes: The longest event that is accepted.

    Raises:
        ExpiredTokenError: The resource version is too old; list again.
        TransientError: The stream broke, was silent for too long, or sent an error.
        RejectedError: The stream sent something that is not an event.
    """
    call = _watch_call(resource, resource_version, label_selector)
    async with client.stream(call, silence_seconds=WATCH_SILENCE_SECONDS) as content:
        waiting = bytearray()
        async for piece in content.iter_any():
            # Only the new piece is searched for a line break: a long line comes in many pieces.
            *ends, rest = piece.split(b"\n")
            for end in ends:
                waiting += end
                if waiting.strip():
                    yield _read_event(call, resource, bytes(waiting))
                waiting.clear()
            waiting += rest
            if len(waiting) > max_line_bytes:
                raise answers.malformed(call.attempt, f"an event of over {max_line_bytes} bytes")
        if waiting.strip():
            raise TransientError(
                verb=call.verb, resource=call.resource, reason="ConnectionFailed", detail="cut off"
            )


def _watch_call(resource: Endpoint, resource_version: str, label_selector: str) -> ApiRequest:
    query = {
        "watch": "1",
        "allowWatchBookmarks": "true",
        "resourceVersion": resource_version,
        "labelSelector": label_selector,
        "timeoutSeconds": str(WATCH_SECONDS),
    }
    return ApiRequest(
        verb="watch",
        resource=str(resource),
        method="GET",
        path=collection_path(resource),
        query={name: text for name, text in query.items() if text},
        is_read=True,
    )


def _read_event(call: ApiRequest, resource: Endpoint, line: bytes) -> WatchEvent:
    event = decode(call, line, _event)
    text = bytes(event.object)
    match event.type:
        case "ERROR":
            raise _error_of_event(call, text)
        case "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK":
            version = decode(call, text, _head).metadata.resource_version
            if not version:
                raise answers.malformed(call.attempt, "an event without a resourceVersion")
            obj = _read_changed(call, resource, text)
            return WatchEvent(type=event.type, object=obj, resource_version=version)
        case _:
            raise answers.malformed(call.attempt, "an event of an unknown type")


def _read_changed(call: ApiRequest, resource: Endpoint, text: bytes) -> dict[str, JSON]:
    try:
        obj = decode_json(text)
    except ValueError as error:
        raise answers.malformed(call.attempt, "an event that is nested too deeply") from error
    # The head of the event was decoded before, so this is an object with metadata.
    changed = obj if isinstance(obj, dict) else {}
    changed.setdefault("apiVersion", resource.api_version)
    changed.setdefault("kind", resource.kind)
    return changed


def _error_of_event(call: ApiRequest, text: bytes) -> ClusterError:
    status = answers.read_status(text)
    error = answers.error_of(call.attempt, status.code, text)
    if isinstance(error, RejectedError):
        # The server had accepted the watch, so the error is not about the request.
        return TransientError(
            verb=call.verb,
            resource=call.resource,
            status=status.code,
            reason=error.reason,
            detail=error.detail,
        )
    return error
