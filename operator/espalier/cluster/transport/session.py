"""
Sessions to one API server: time limits, connection limit, credentials and user agent.
"""

from collections.abc import Callable
from contextvars import ContextVar
from ssl import SSLContext
from types import TracebackType
from typing import TYPE_CHECKING

import aiohttp
from yarl import URL

from espalier import __version__
from espalier.cluster.auth.connection import Connection
from espalier.cluster.transport.media_types import JSON_TYPE, PARTIAL_LIST_TYPE, PARTIAL_TYPE
from espalier.engine.ports.records import always
from espalier.errors import ConfigurationError

if TYPE_CHECKING:
    from aiohttp.connector import Connection as HttpConnection
    from aiohttp.tracing import Trace

USER_AGENT = f"espalier/{__version__}"
"""The user agent of Espalier's requests in the audit log; Kopf's session has another one."""

TOTAL_SECONDS = 75.0
"""The time limit of a whole call; the server's own default limit is 60 s."""

WATCH_SILENCE_SECONDS = 150.0
"""The longest silence on a watch: the server sends a bookmark about every minute."""

_CONNECT_SECONDS = 10.0
_SILENCE_SECONDS = 65.0
_UNAUTHORIZED = 401

MAX_CONNECTIONS = 64
"""For reads of stored objects and for archives; writes have the lanes of ``lanes``."""

MAX_CONTROL_CONNECTIONS = 16
"""For leases, and as many for definitions: neither waits behind the writes of objects."""


class UnsentError(aiohttp.ClientError):
    """
    A request was not sent, by a decision of this process.

    It is an error of the client library, so that Kopf retries.
    """


class NoCredentialsError(UnsentError):
    """
    There is no credential to send.
    """


class Authentication:
    """
    A client middleware that adds the credential, and retries with a new one after a 401.

    It also adds the headers of impersonation. Only requests to the connection's own server get
    them: a redirect must not send a token to another server.
    """

    def __init__(self, connection: Connection) -> None:
        self._credentials = connection.credentials
        self._server_name = connection.server_name
        self._origin = URL(connection.server).origin()
        self._authority = (self._origin.scheme, self._origin.raw_authority)
        self._impersonation = connection.impersonation.headers()

    async def __call__(
        self, request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        """
        Send a request with the current credential.

        Raises:
            NoCredentialsError: There is no credential.
        """
        url = request.url
        # The origin is made anew for each URL, so what is nearly always the same is compared first.
        is_ours = (url.scheme, url.raw_authority) == self._authority
        if not is_ours and url.origin() != self._origin:
            return await handler(request)
        if self._server_name is not None:
            request.server_hostname = self._server_name
        for name, value in self._impersonation:
            request.headers.add(name, value)
        try:
            header = await self._credentials.header()
        except ConfigurationError as error:
            raise NoCredentialsError(str(error)) from error
        response = await _signed(request, handler, header)
        if response.status != _UNAUTHORIZED:
            return response
        try:
            fresh = await self._credentials.renewed(header)
        except ConfigurationError as error:
            response.close()
            raise NoCredentialsError(str(error)) from error
        if fresh is None:
            return response
        response.close()
        return await _signed(request, handler, fresh)


async def _signed(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType, header: str | None
) -> aiohttp.ClientResponse:
    if header is not None:
        request.headers["Authorization"] = header
    return await handler(request)


async def metadata_only(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """
    Send a read that lists or watches, as a client middleware, so that only metadata come back.

    What has no metadata, such as a list of the kinds that there are, comes as it is: the API server
    takes the first of the types that it can make.
    """
    if request.method == "GET":
        is_watch = request.url.query.get("watch") == "true"
        partial = PARTIAL_TYPE if is_watch else PARTIAL_LIST_TYPE
        request.headers["Accept"] = f"{partial},{JSON_TYPE}"
    return await handler(request)


NOT_SENT = "not sent: whether this process may write is in doubt"


class NotBegunError(UnsentError):
    """
    A request must not be sent any more; it was not.
    """


def unsent_of(error: BaseException) -> UnsentError | None:
    """
    Return what kept a request from being sent, if that is what an error means.
    """
    # What is raised while a body is written comes as the cause of another error.
    return next((one for one in (error, error.__cause__) if isinstance(one, UnsentError)), None)


_may_begin: ContextVar[Callable[[], bool]] = ContextVar("may_begin", default=always)


class SendingWhile:
    """
    Send the requests of a block only if a check holds when there is a connection for them.

    A request may wait for its connection, or its process may be paused, long after it was decided
    upon.
    """

    __slots__ = ("_before", "_check")

    def __init__(self, may_begin: Callable[[], bool]) -> None:
        self._check = may_begin

    def __enter__(self) -> None:
        self._before = _may_begin.set(self._check)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _may_begin.reset(self._before)


class CheckedConnector(aiohttp.TCPConnector):
    """
    Ask the check of ``SendingWhile`` when there is a connection.
    """

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: "list[Trace]",
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - the library's signature
    ) -> "HttpConnection":
        """
        Connect, or take an open connection.

        Raises:
            NotBegunError: The check does not hold.
            aiohttp.ClientConnectionError: The event loop takes the descriptor of the new socket
                for that of an old one: https://github.com/MagicStack/uvloop/issues/653.
        """
        try:
            connection = await super().connect(req, traces, timeout)
        except RuntimeError as error:
            raise aiohttp.ClientConnectionError(f"not connected: {error}") from error
        if not _may_begin.get()():
            connection.release()
            raise NotBegunError(NOT_SENT)
        return connection


def tls_of(connection: Connection) -> SSLContext | bool:
    """
    Return what a connector is given for TLS.
    """
    return connection.tls if connection.tls is not None else True


def open_session(
    connection: Connection,
    *,
    user_agent: str = USER_AGENT,
    max_connections: int = MAX_CONNECTIONS,
    connector: aiohttp.TCPConnector | None = None,
    middlewares: tuple[aiohttp.ClientMiddlewareType, ...] = (),
) -> aiohttp.ClientSession:
    """
    Open a session that adds credentials to its requests; the caller closes it.

    Args:
        user_agent: The whole header.
        max_connections: The limit; 0 for none. Each watch occupies a connection.
        connector: Makes the connections instead, by its own limit.
        middlewares: What else is done to each request, before its credential is added.
    """
    return aiohttp.ClientSession(
        connector=connector or CheckedConnector(limit=max_connections, ssl=tls_of(connection)),
        timeout=aiohttp.ClientTimeout(
            total=TOTAL_SECONDS, sock_connect=_CONNECT_SECONDS, sock_read=_SILENCE_SECONDS
        ),
        headers={"User-Agent": user_agent},
        # The API has no cookies; a load balancer's cookie would bind us to one server.
        cookie_jar=aiohttp.DummyCookieJar(),
        middlewares=(*middlewares, Authentication(connection)),
        proxy=connection.proxy,
    )
