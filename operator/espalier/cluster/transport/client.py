"""
One call to the API server: sent, bounded in time and size, and its failures told as our errors.

Reads are tried again a few times; a write is tried once, since only the engine knows whether it
still makes sense.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import parsedate_to_datetime
from types import MappingProxyType
from typing import TypeVar
from urllib.parse import urlencode

import aiohttp
import msgspec
from yarl import URL

from espalier.cluster.auth.connection import Connection
from espalier.cluster.auth.credentials import read_time
from espalier.cluster.transport import responses as answers
from espalier.cluster.transport.deep_nesting import with_room_if_needed
from espalier.cluster.transport.json_codec import encode_json
from espalier.cluster.transport.session import TOTAL_SECONDS
from espalier.engine.ports.clock import Clock
from espalier.errors import RejectedError, TransientError
from espalier.paths import JSON

JSON_TYPE = "application/json"
JSON_PATCH_TYPE = "application/json-patch+json"
MERGE_PATCH_TYPE = "application/merge-patch+json"
APPLY_PATCH_TYPE = "application/apply-patch+yaml"
"""JSON is YAML, so an apply's body may be JSON."""
PARTIAL_TYPE = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIAL_LIST_TYPE = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

MAX_ANSWER_BYTES = 64 * 1024 * 1024
"""Of any answer."""

READ_ATTEMPTS = 4
_FIRST_PAUSE_SECONDS = 0.5
# A server that asks for a longer pause than this is asked again by the engine, or by a person.
_MAX_PAUSE_SECONDS = 20.0
_MAX_ERROR_BYTES = 1024 * 1024
_OK, _ERRORS = 200, 300

_NOTHING: Mapping[str, str] = MappingProxyType({})
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRequest:
    """
    One request.

    Attributes:
        verb: As RBAC names it.
        resource: For texts: ``widgets.example.com``, with the object's name where known.
        path: Absolute and already quoted, below the connection's base URL.
        body: JSON, None for a request without one.
        is_read: Changes nothing, so that it may be sent again.
        max_answer_bytes: The longest answer that is taken.
    """

    verb: str
    resource: str
    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=lambda: _NOTHING, hash=False)
    body: Mapping[str, JSON] | Sequence[JSON] | None = field(default=None, hash=False)
    content_type: str = JSON_TYPE
    accept: str = JSON_TYPE
    is_read: bool = False
    total_seconds: float = TOTAL_SECONDS
    max_answer_bytes: int = MAX_ANSWER_BYTES

    @property
    def attempt(self) -> answers.RequestedAction:
        """
        What is tried, for the texts of errors.
        """
        return answers.RequestedAction(verb=self.verb, resource=self.resource)


@dataclass(unsafe_hash=True, kw_only=True)
class TooLargeError(RejectedError):
    """
    An answer has more bytes than are taken; a smaller page may fit.
    """


class Client:
    """
    Sends calls to one API server.
    """

    def __init__(
        self,
        session: aiohttp.ClientSession,
        connection: Connection,
        clock: Clock,
        *,
        chance: Callable[[], float] = random.random,
        max_answer_bytes: int = MAX_ANSWER_BYTES,
    ) -> None:
        self._session = session
        self._server = connection.server
        self._clock = clock
        self._chance = chance
        self._max_answer_bytes = max_answer_bytes

    @property
    def clock(self) -> Clock:
        """
        The clock that pauses are made by.
        """
        return self._clock

    async def send(self, call: ApiRequest) -> bytes:
        """
        Send a call; a read is sent again, after pauses, while the server is busy or away.

        Returns:
            The body of the successful answer.

        Raises:
            ClusterError: As ``answers.error_of`` tells it.
        """
        return await self._tried(call, lambda: self._send_once(call))

    async def fetch(self, call: ApiRequest, decoder: "msgspec.json.Decoder[_Result]") -> _Result:
        """
        Send a call and decode its answer.

        Raises:
            RejectedError: The answer is not of the promised form.
        """
        return decode(call, await self.send(call), decoder)

    @asynccontextmanager
    async def stream(
        self, call: ApiRequest, *, silence_seconds: float
    ) -> AsyncIterator[aiohttp.StreamReader]:
        """
        Send a call whose answer has no end, and give what it is read from.

        Failures inside of the block are told as those of the call; only its beginning is tried
        again.

        Args:
            silence_seconds: The longest time in which nothing may come.
        """
        limits = aiohttp.ClientTimeout(
            total=None,
            connect=self._session.timeout.total,
            sock_connect=self._session.timeout.sock_connect,
            sock_read=silence_seconds,
        )
        async with AsyncExitStack() as stack:
            response = await self._tried(
                call, lambda: stack.enter_async_context(self._answered(call, limits))
            )
            yield response.content

    async def _tried(self, call: ApiRequest, once: Callable[[], Awaitable[_Result]]) -> _Result:
        attempt = 1
        while True:
            try:
                return await once()
            except TransientError as error:
                pause_seconds = self._pause_seconds(error, attempt)
                if not call.is_read or attempt >= READ_ATTEMPTS or pause_seconds is None:
                    raise
            await self._clock.sleep(pause_seconds)
            attempt += 1

    async def _send_once(self, call: ApiRequest) -> bytes:
        limits = aiohttp.ClientTimeout(
            total=call.total_seconds,
            sock_connect=self._session.timeout.sock_connect,
            sock_read=self._session.timeout.sock_read,
        )
        async with self._answered(call, limits) as response:
            max_bytes = min(call.max_answer_bytes, self._max_answer_bytes)
            body = await _read(response, max_bytes)
            if body is None:
                response.close()
                raise TooLargeError(
                    verb=call.verb,
                    resource=call.resource,
                    reason="AnswerTooLarge",
                    detail=f"more than {max_bytes} bytes",
                )
            return body

    @asynccontextmanager
    async def _answered(
        self, call: ApiRequest, limits: aiohttp.ClientTimeout
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        query = f"?{urlencode(call.query)}" if call.query else ""
        url = URL(f"{self._server}{call.path}{query}", encoded=True)
        headers = {"Accept": call.accept}
        body = None if call.body is None else _encoded(call, call.body)
        if body is not None:
            headers["Content-Type"] = call.content_type
        try:
            async with self._session.request(
                call.method,
                url,
                data=body,
                headers=headers,
                timeout=limits,
                # The API never redirects what we ask for, and a write must not go elsewhere.
                allow_redirects=False,
            ) as response:
                if not _OK <= response.status < _ERRORS:
                    raise await self._failure(call, response)
                yield response
        except TimeoutError as error:
            raise TransientError(
                verb=call.verb, resource=call.resource, reason="Timeout", detail=str(error)
            ) from error
        except (aiohttp.ClientError, OSError, asyncio.IncompleteReadError) as error:
            raise TransientError(
                verb=call.verb,
                resource=call.resource,
                reason="ConnectionFailed",
                detail=str(error) or type(error).__name__,
            ) from error

    async def _failure(self, call: ApiRequest, response: aiohttp.ClientResponse) -> Exception:
        body = await _read(response, _MAX_ERROR_BYTES)
        if body is None:
            response.close()
        waiting_seconds = answers.retry_after_seconds_of(
            response.headers.get("Retry-After"), now=self._server_time(response.headers)
        )
        return answers.error_of(
            call.attempt, response.status, body or b"", retry_after_seconds=waiting_seconds
        )

    def _server_time(self, headers: Mapping[str, str]) -> datetime:
        # The server's own time where it tells: a date in Retry-After is one of its clock.
        own = read_time(self._clock.utc_timestamp())
        try:
            date = parsedate_to_datetime(headers["Date"])
        except (KeyError, ValueError):
            return own
        return date if date.tzinfo else date.replace(tzinfo=own.tzinfo)

    def _pause_seconds(self, error: TransientError, attempt: int) -> float | None:
        """
        Tell how long to wait; None if it would be too long.
        """
        jitter = 0.5 + self._chance()
        pause_seconds = _FIRST_PAUSE_SECONDS * 2 ** (attempt - 1) * jitter
        if error.retry_after_seconds is not None:
            pause_seconds = max(pause_seconds, error.retry_after_seconds)
        return pause_seconds if pause_seconds <= _MAX_PAUSE_SECONDS else None


def decode(call: ApiRequest, body: bytes, decoder: "msgspec.json.Decoder[_Result]") -> _Result:
    """
    Decode an answer that has come.

    Raises:
        RejectedError: It is not of the promised form.
    """
    try:
        return with_room_if_needed(lambda: decoder.decode(body))
    except msgspec.ValidationError as error:
        raise answers.malformed(call.attempt, f"unexpected JSON: {error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise answers.malformed(call.attempt, "not JSON, or nested too deeply") from error


def _encoded(call: ApiRequest, body: Mapping[str, JSON] | Sequence[JSON]) -> bytes:
    try:
        return encode_json(body)
    except ValueError as error:
        raise answers.malformed(call.attempt, f"what was to be sent is {error}") from error


async def _read(response: aiohttp.ClientResponse, max_bytes: int) -> bytes | None:
    """
    Read a body; None if it has more bytes than that.
    """
    told_bytes = response.content_length
    if told_bytes is not None and "Content-Encoding" not in response.headers:
        # More than is told does not come.
        return await response.read() if told_bytes <= max_bytes else None
    pieces: list[bytes] = []
    size_bytes = 0
    async for piece in response.content.iter_any():
        size_bytes += len(piece)
        if size_bytes > max_bytes:
            return None
        pieces.append(piece)
    return b"".join(pieces)
