"""
Sessions to one API server: time limits, connection limit, credentials and user agent.
"""

from importlib.metadata import version

import aiohttp
from yarl import URL

from espalier.cluster.auth.connection import Connection
from espalier.errors import ConfigurationError

USER_AGENT = f"espalier/{version('espalier')}"
"""By this the audit log tells Espalier's own requests; Kopf's session has another one."""

TOTAL_SECONDS = 75.0
"""For a whole call; the server itself gives up after 60 s unless told otherwise."""

WATCH_SILENCE_SECONDS = 150.0
"""The longest silence on a watch: the server sends a bookmark about every minute."""

_CONNECT_SECONDS = 10.0
_SILENCE_SECONDS = 65.0
_UNAUTHORIZED = 401

MAX_CONNECTIONS = 128
"""More than two runs have rewrites in flight: a lease is renewed while all of those wait."""


class NoCredentialsError(aiohttp.ClientError):
    """
    There is no credential to send. An error of the client library, so that Kopf retries too.
    """


class Authentication:
    """
    A client middleware that signs requests, and sends one again with a new credential after a 401.

    Only requests to the connection's own server are signed: a redirect elsewhere must not
    carry a token away.
    """

    def __init__(self, connection: Connection) -> None:
        self._credentials = connection.credentials
        self._server_name = connection.server_name
        self._origin = URL(connection.server).origin()

    async def __call__(
        self, request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        """
        Send a request with the credential of the moment.

        Raises:
            NoCredentialsError: There is none.
        """
        if request.url.origin() != self._origin:
            return await handler(request)
        if self._server_name is not None:
            request.server_hostname = self._server_name
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


def open_session(
    connection: Connection,
    *,
    user_agent: str = USER_AGENT,
    max_connections: int = MAX_CONNECTIONS,
) -> aiohttp.ClientSession:
    """
    Open a session that authenticates by itself; the caller closes it.

    Args:
        user_agent: The whole header.
        max_connections: 0 for any number: a watch holds a connection for as long as it lives.
    """
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(
            limit=max_connections, ssl=connection.tls if connection.tls is not None else True
        ),
        timeout=aiohttp.ClientTimeout(
            total=TOTAL_SECONDS, sock_connect=_CONNECT_SECONDS, sock_read=_SILENCE_SECONDS
        ),
        headers={"User-Agent": user_agent},
        # The API keeps no state in cookies; a load balancer's would only tie us to one server.
        cookie_jar=aiohttp.DummyCookieJar(),
        middlewares=(Authentication(connection),),
        proxy=connection.proxy,
    )
