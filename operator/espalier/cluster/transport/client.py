"""
Send calls to the API server, with limits on time and size, and raise failures as our errors.

Reads are retried a few times. A write is sent once, since only the engine knows whether it still
makes sense.
"""

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from datetime import datetime
from email.utils import parsedate_to_datetime
from types import MappingProxyType
from typing import NamedTuple, TypeVar

import aiohttp
import msgspec

from espalier.cluster.auth.connection import Connection
from espalier.cluster.auth.credentials import read_time
from espalier.cluster.transport import responses as answers
from espalier.cluster.transport.bodies import body_of, read_body
from espalier.cluster.transport.deep_nesting import with_large_stack
from espalier.cluster.transport.json_codec import encode_json
from espalier.cluster.transport.media_types import JSON_TYPE
from espalier.cluster.transport.session import (
    TOTAL_SECONDS,
    SendingWhile,
    unsent_of,
)
from espalier.cluster.transport.urls import RequestUrls
from espalier.engine.ports.clock import Clock
from espalier.engine.ports.records import always
from espalier.engine.ports.servers import NotSentError
from espalier.errors import RejectedError, TransientError
from espalier.paths import JSON

SERVER_TEXT_LOGGER = "espalier.server_text"
"""Takes the server's own texts, which may hold values; the command line alone shows them."""

server_text = logging.getLogger(SERVER_TEXT_LOGGER)
logger = logging.getLogger(__name__)

MAX_ANSWER_BYTES = 64 * 1024 * 1024
"""The limit for every response."""

READ_ATTEMPTS = 4
_FIRST_PAUSE_SECONDS = 0.5
# If a server asks for a longer pause, the error is raised, and the engine decides.
_MAX_PAUSE_SECONDS = 20.0
_MAX_ERROR_BYTES = 1024 * 1024
_OK, _ERRORS = 200, 300
# Counted where there was no response.
_NO_CODE = "<error>"
_UNANSWERED = (TimeoutError, aiohttp.ClientError, OSError, asyncio.IncompleteReadError)

_NOTHING: Mapping[str, str] = MappingProxyType({})
_Result = TypeVar("_Result")


class ApiRequest(NamedTuple):
    """
    One request. It is made for each write, so it is a kind of record that is made fast.

    Attributes:
        verb: The verb as RBAC names it.
        resource: The resource for messages: ``widgets.example.com``, then the object's name.
        path: The absolute, quoted path below the connection's base URL.
        body: The JSON body; None for a request without one.
        is_read: Whether the request changes nothing, so that it may be sent again.
        max_answer_bytes: The longest response that is accepted.
        may_begin: Asked when there is a connection; if it returns False, nothing is sent.
    """

    verb: str
    resource: str
    method: str
    path: str
    query: Mapping[str, str] = _NOTHING
    body: Mapping[str, JSON] | Sequence[JSON] | None = None
    content_type: str = JSON_TYPE
    accept: str = JSON_TYPE
    is_read: bool = False
    total_seconds: float = TOTAL_SECONDS
    max_answer_bytes: int = MAX_ANSWER_BYTES
    may_begin: Callable[[], bool] = always

    @property
    def attempt(self) -> answers.RequestedAction:
        """
        The verb and resource, for the messages of errors.
        """
        return answers.RequestedAction(verb=self.verb, resource=self.resource)


class TooLargeError(RejectedError, kw_only=True):
    """
    A response has more bytes than are accepted; a smaller page may fit.
    """


class Client:
    """
    Send calls to one API server.

    Args:
        dry_run: Whether the server only tries each write, and keeps none.
    """

    def __init__(
        self,
        session: aiohttp.ClientSession,
        connection: Connection,
        clock: Clock,
        *,
        chance: Callable[[], float] = random.random,
        max_answer_bytes: int = MAX_ANSWER_BYTES,
        dry_run: bool = False,
    ) -> None:
        self._session = session
        self._figures = connection.figures
        self._clock = clock
        self._chance = chance
        self._max_answer_bytes = max_answer_bytes
        self._dry_run = dry_run
        self._request_seconds = connection.request_seconds
        self._urls = RequestUrls(connection.server)
        self._limits_by_seconds: dict[float, aiohttp.ClientTimeout] = {}

    @property
    def clock(self) -> Clock:
        """
        The clock that times the pauses.
        """
        return self._clock

    async def send(self, call: ApiRequest) -> bytes:
        """
        Send a call; a read is sent again, after pauses, while the server is busy or unreachable.

        Returns:
            The body of the successful response.

        Raises:
            ClusterError: The error that ``responses.error_of`` returns for the response.
        """
        if not call.is_read:
            return await self._send_once(call)
        return await self._tried(call, lambda: self._send_once(call))

    async def fetch(self, call: ApiRequest, decoder: "msgspec.json.Decoder[_Result]") -> _Result:
        """
        Send a call and decode the response.

        Raises:
            RejectedError: The response has an unexpected form.
        """
        return decode(call, await self.send(call), decoder)

    @asynccontextmanager
    async def stream(
        self, call: ApiRequest, *, silence_seconds: float
    ) -> AsyncIterator[aiohttp.StreamReader]:
        """
        Send a call with an endless response, and yield its stream.

        Connection errors inside the block are raised as errors of the call. Only the start of
        the call is retried.

        Args:
            silence_seconds: The longest time without data.
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
                logger.debug(
                    "A read failed; trying again.",
                    extra={
                        "verb": call.verb,
                        "resource": call.resource,
                        "reason": error.reason,
                        "attempt": attempt,
                        "pause_seconds": round(pause_seconds, 1),
                    },
                )
            await self._clock.sleep(pause_seconds)
            attempt += 1

    async def _send_once(self, call: ApiRequest) -> bytes:
        if call.may_begin is always:
            return await self._body_of(call)
        with SendingWhile(call.may_begin):
            return await self._body_of(call)

    async def _body_of(self, call: ApiRequest) -> bytes:
        max_bytes = min(call.max_answer_bytes, self._max_answer_bytes)
        begun_seconds, code = self._clock.monotonic_seconds(), _NO_CODE
        try:
            async with self._request(call, self._limits(call)) as response:
                code = self._count_answer(call, response, begun_seconds)
                if not _OK <= response.status < _ERRORS:
                    raise await self._failure(call, response)
                body = await read_body(response, max_bytes)
                if body is not None:
                    return body
                response.close()
        except _UNANSWERED as error:
            raise self._unanswered(call, error, code, begun_seconds) from error
        raise TooLargeError(
            verb=call.verb,
            resource=call.resource,
            reason="AnswerTooLarge",
            detail=f"more than {max_bytes} bytes",
        )

    def _limits(self, call: ApiRequest) -> aiohttp.ClientTimeout:
        found = self._limits_by_seconds.get(call.total_seconds)
        if found is None:
            found = self._limits_by_seconds[call.total_seconds] = aiohttp.ClientTimeout(
                total=self._total_seconds(call),
                sock_connect=self._session.timeout.sock_connect,
                sock_read=self._session.timeout.sock_read
                if self._request_seconds is None
                else None,
            )
        return found

    def _total_seconds(self, call: ApiRequest) -> float:
        asked = self._request_seconds
        if asked is None:
            return call.total_seconds
        # A call with a limit of its own, such as that of a lease, must not take longer.
        return asked if call.total_seconds == TOTAL_SECONDS else min(asked, call.total_seconds)

    @asynccontextmanager
    async def _answered(
        self, call: ApiRequest, limits: aiohttp.ClientTimeout
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        begun_seconds, code = self._clock.monotonic_seconds(), _NO_CODE
        try:
            async with self._request(call, limits) as response:
                code = self._count_answer(call, response, begun_seconds)
                if not _OK <= response.status < _ERRORS:
                    raise await self._failure(call, response)
                yield response
        except _UNANSWERED as error:
            raise self._unanswered(call, error, code, begun_seconds) from error

    def _request(
        self, call: ApiRequest, limits: aiohttp.ClientTimeout
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        query = call.query
        if self._dry_run and call.method != "GET" and not call.is_read:
            query = {**query, "dryRun": "All"}
        headers = {"Accept": call.accept}
        body = None if call.body is None else _encoded(call, call.body)
        if body is not None:
            headers["Content-Type"] = call.content_type
        return self._session.request(
            call.method,
            self._urls.url_of(call.path, query),
            data=body_of(body, call.may_begin),
            headers=headers,
            timeout=limits,
            # The API never redirects our calls, and a write must not go to another server.
            allow_redirects=False,
        )

    def _count_answer(
        self, call: ApiRequest, response: aiohttp.ClientResponse, begun_seconds: float
    ) -> str:
        code = str(response.status)
        self._count(call, code, begun_seconds)
        return code

    def _unanswered(
        self, call: ApiRequest, error: BaseException, code: str, begun_seconds: float
    ) -> TransientError:
        if isinstance(error, TimeoutError):
            kind, reason, detail = TransientError, "Timeout", str(error)
        elif (unsent := unsent_of(error)) is not None:
            kind, reason, detail = NotSentError, "NotSent", str(unsent)
        else:
            kind, reason, detail = (
                TransientError,
                "ConnectionFailed",
                str(error) or type(error).__name__,
            )
        if code == _NO_CODE and kind is not NotSentError:
            self._count(call, code, begun_seconds)
        return kind(verb=call.verb, resource=call.resource, reason=reason, detail=detail)

    def _count(self, call: ApiRequest, code: str, begun_seconds: float) -> None:
        seconds = self._clock.monotonic_seconds() - begun_seconds
        self._figures.add(call.method, code, seconds)
        if logger.isEnabledFor(logging.DEBUG):
            logger.debug(
                "The API server answered a request.",
                extra={
                    "verb": call.verb,
                    "resource": call.resource,
                    "code": code,
                    "seconds": round(seconds, 4),
                },
            )

    async def _failure(self, call: ApiRequest, response: aiohttp.ClientResponse) -> Exception:
        body = await read_body(response, _MAX_ERROR_BYTES)
        if body is None:
            response.close()
        waiting_seconds = answers.retry_after_seconds_of(
            response.headers.get("Retry-After"), now=self._server_time(response.headers)
        )
        server_text.debug(
            "The API server refused a request.",
            extra={
                "verb": call.verb,
                "resource": call.resource,
                "text": answers.text_of(body or b""),
            },
        )
        return answers.error_of(
            call.attempt, response.status, body or b"", retry_after_seconds=waiting_seconds
        )

    def _server_time(self, headers: Mapping[str, str]) -> datetime:
        # A date in Retry-After is a time of the server's clock, so its Date header is used.
        own = read_time(self._clock.utc_timestamp())
        try:
            date = parsedate_to_datetime(headers["Date"])
        except (KeyError, ValueError):
            return own
        return date if date.tzinfo else date.replace(tzinfo=own.tzinfo)

    def _pause_seconds(self, error: TransientError, attempt: int) -> float | None:
        """
        Return the pause before the next attempt; None if it would be too long.
        """
        jitter = 0.5 + self._chance()
        pause_seconds = _FIRST_PAUSE_SECONDS * 2 ** (attempt - 1) * jitter
        if error.retry_after_seconds is not None:
            pause_seconds = max(pause_seconds, error.retry_after_seconds)
        return pause_seconds if pause_seconds <= _MAX_PAUSE_SECONDS else None


def decode(call: ApiRequest, body: bytes, decoder: "msgspec.json.Decoder[_Result]") -> _Result:
    """
    Decode the body of a response.

    Raises:
        RejectedError: The body has an unexpected form.
    """
    try:
        try:
            return decoder.decode(body)
        except RecursionError:
            return with_large_stack(lambda: decoder.decode(body))
    except msgspec.ValidationError as error:
        raise answers.malformed(call.attempt, f"unexpected JSON: {error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise answers.malformed(call.attempt, "not JSON, or nested too deeply") from error


def _encoded(call: ApiRequest, body: Mapping[str, JSON] | Sequence[JSON]) -> bytes:
    try:
        return encode_json(body)
    except ValueError as error:
        raise answers.malformed(call.attempt, f"the body of the request is {error}") from error
