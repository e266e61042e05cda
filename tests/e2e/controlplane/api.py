"""
A small client for the API server, for the tests' own changes to a cluster.
"""

import asyncio
import http.client
import json
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import aiohttp

TIMEOUT_SECONDS = 30.0
TLS_END_SECONDS = 0.05
IN_FLIGHT = 16
USER_AGENT = "espalier-tests"

JSON_TYPE = "application/json"
MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@dataclass(unsafe_hash=True)
class ApiError(Exception):
    """
    The server refused a request.
    """

    status: int
    message: str

    def __str__(self) -> str:
        return f"{self.status}: {self.message}"


class Api:
    """
    Call one API server with a bearer token.

    Attributes:
        headers: The headers of each request.
        ssl_context: Trusts the server.
    """

    def __init__(
        self,
        url: str,
        context: ssl.SSLContext,
        token: str,
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        self.url = url
        self._timeout_seconds = timeout_seconds
        self._address = urlsplit(url)
        self.ssl_context = context
        self.headers = {
            "Authorization": f"Bearer {token}",
            "User-Agent": USER_AGENT,
            "Accept": JSON_TYPE,
        }

    def get(self, path: str) -> dict[str, Any]:
        """
        Read an object or a list.
        """
        return self.call("GET", path)

    def find(self, path: str) -> dict[str, Any] | None:
        """
        Read an object; None if it does not exist.
        """
        try:
            return self.get(path)
        except ApiError as error:
            if error.status == http.client.NOT_FOUND:
                return None
            raise

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """
        Create an object.
        """
        return self.call("POST", path, body)

    def put(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """
        Replace an object.
        """
        return self.call("PUT", path, body)

    def merge(self, path: str, patch: Mapping[str, Any]) -> dict[str, Any]:
        """
        Apply a merge patch to an object.
        """
        return self.call("PATCH", path, patch, content_type=MERGE_PATCH)

    def delete(self, path: str) -> None:
        """
        Delete an object; it is no error if it does not exist.
        """
        try:
            self.call("DELETE", path)
        except ApiError as error:
            if error.status != http.client.NOT_FOUND:
                raise

    def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        content_type: str = JSON_TYPE,
    ) -> dict[str, Any]:
        """
        Make one request.

        Raises:
            ApiError: The response is not a success.
            OSError: There is no response.
        """
        connection = self.connect()
        try:
            connection.request(
                method,
                path,
                None if body is None else json.dumps(body),
                self.headers | ({} if body is None else {"Content-Type": content_type}),
            )
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        if response.status >= http.client.BAD_REQUEST:
            raise ApiError(response.status, _message(content))
        if response.headers.get_content_type() != JSON_TYPE:
            return {}  # a probe's answer
        answer: dict[str, Any] = json.loads(content)
        return answer

    def time(self) -> datetime:
        """
        Return the time of the server's clock, to the second.
        """
        connection = self.connect()
        try:
            connection.request("GET", "/version", headers=self.headers)
            response = connection.getresponse()
            response.read()
        finally:
            connection.close()
        return parsedate_to_datetime(response.headers["Date"])

    def connect(self) -> http.client.HTTPSConnection:
        """
        Return a new connection; requests on it must have ``headers``.
        """
        return http.client.HTTPSConnection(
            self._address.hostname or "",
            self._address.port,
            context=self.ssl_context,
            timeout=self._timeout_seconds,
        )

    def create_many(
        self, path: str, objects: Iterable[Mapping[str, Any]], *, in_flight: int = IN_FLIGHT
    ) -> None:
        """
        Create objects of one resource, many at a time.

        Raises:
            ApiError: One of them was refused; the others may or may not have been created.
        """
        asyncio.run(self._create_many(path, objects, in_flight))

    async def _create_many(
        self, path: str, objects: Iterable[Mapping[str, Any]], in_flight: int
    ) -> None:
        connector = aiohttp.TCPConnector(ssl=self.ssl_context, limit=in_flight)
        async with aiohttp.ClientSession(
            self.url, connector=connector, headers=self.headers
        ) as session:

            async def create(obj: Mapping[str, Any]) -> None:
                async with session.post(path, json=obj) as response:
                    if response.status >= http.client.BAD_REQUEST:
                        raise ApiError(response.status, _message(await response.read()))

            async with asyncio.TaskGroup() as group:
                for obj in objects:
                    group.create_task(create(obj))
        # TLS connections end a moment after their session.
        await asyncio.sleep(TLS_END_SECONDS)


def _message(content: bytes) -> str:
    try:
        return str(json.loads(content)["message"])
    except (ValueError, KeyError, TypeError):
        return content[:300].decode(errors="replace")
