"""
Watches: one answer without an end, one JSON event a line.
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
"""After this the server ends a watch by itself; a new one is answered by whichever server is up."""

MAX_LINE_BYTES = 16 * 1024 * 1024
"""An event holds one object, of at most some 3 MiB, and nothing else."""


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
    max_line_bytes: int = MAX_LINE_BYTES,
) -> AsyncIterator[WatchEvent]:
    """
    Watch the objects of a resource, until the server closes the stream.

    Args:
        resource_version: Changes after this one are told.
        max_line_bytes: The longest event that is taken.

    Raises:
        ExpiredTokenError: The resource version is too old; list anew.
        TransientError: The stream broke, fell silent, or told of an error.
        RejectedError: Something came that is no event.
    """
    call = ApiRequest(
        verb="watch",
        resource=str(resource),
        method="GET",
        path=collection_path(resource),
        query={
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(WATCH_SECONDS),
        },
        is_read=True,
    )
    async with client.stream(call, silence_seconds=WATCH_SILENCE_SECONDS) as content:
        waiting = bytearray()
        async for piece in content.iter_any():
            # Only the new piece is searched: a long line comes in many of them.
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


def _read_event(call: ApiRequest, resource: Endpoint, line: bytes) -> WatchEvent:
    event = decode(call, line, _event)
    text = bytes(event.object)
    match event.type:
        case "ERROR":
            raise _told_error(call, text)
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
    # The event's head has been decoded, so that this is an object with metadata.
    changed = obj if isinstance(obj, dict) else {}
    changed.setdefault("apiVersion", resource.api_version)
    changed.setdefault("kind", resource.kind)
    return changed


def _told_error(call: ApiRequest, text: bytes) -> ClusterError:
    status = answers.read_status(text)
    error = answers.error_of(call.attempt, status.code, text)
    if isinstance(error, RejectedError):
        # The watch had been accepted, so this is not about what was asked for.
        return TransientError(
            verb=call.verb,
            resource=call.resource,
            status=status.code,
            reason=error.reason,
            detail=error.detail,
        )
    return error
