"""
One API server, the sandbox or a real one, as the contract's tests see it.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar

import aiohttp

from tests.patience import Deadline

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
OTHER_UID = "00000000-0000-0000-0000-000000000000"
WAIT_SECONDS = 20.0

Object = dict[str, Any]
T = TypeVar("T")


class Answer(NamedTuple):
    """
    The HTTP status and the decoded body; text where it is no JSON.
    """

    status: int
    body: Any

    @property
    def failure(self) -> tuple[int, str, str]:
        """
        Status, reason and message of a Status object.
        """
        return self.status, self.body.get("reason", ""), self.body["message"]


class Raw(Protocol):
    """
    Access to what is stored.
    """

    def raw_get(self, key: str) -> bytes | None: ...
    def raw_put(self, key: str, value: bytes) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Server:
    """
    Calls one server.

    Attributes:
        group: A group that no other test uses.
    """

    url: str
    raw: Raw
    session: aiohttp.ClientSession
    ssl_context: ssl.SSLContext | bool
    group: str
    created: list[str] = field(default_factory=list)

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content_type: str = "application/json",
        accept: str = "application/json",
        **options: str,
    ) -> Answer:
        """
        Make a request; options go into the query.
        """
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        headers = {"Content-Type": content_type, "Accept": accept, "User-Agent": "contract/1"}
        async with self.session.request(
            method,
            self.url + path,
            data=data,
            headers=headers,
            params=options,
            ssl=self.ssl_context,
        ) as response:
            content = await response.read()
            if response.content_type == "application/json":
                return Answer(response.status, json.loads(content))
            return Answer(response.status, content.decode())

    async def get(self, path: str, **options: str) -> Object:
        """
        Read what must be there.
        """
        return _body(await self.call("GET", path, **options))

    async def post(self, path: str, body: Object, **options: str) -> Object:
        """
        Create what must be accepted.
        """
        return _body(await self.call("POST", path, body, **options))

    async def merge(self, path: str, patch: Object, **options: str) -> Object:
        """
        Apply a merge patch that must be accepted.
        """
        return _body(await self.call("PATCH", path, patch, content_type=MERGE, **options))

    async def apply(self, path: str, body: Object, *, manager: str, **options: str) -> Answer:
        """
        Apply a configuration.
        """
        return await self.call(
            "PATCH", path, body, content_type=APPLY, fieldManager=manager, **options
        )

    async def watch(self, path: str, **options: str) -> AsyncGenerator[Object, None]:
        """
        Yield watch events until the server closes.
        """
        async with self.session.get(
            self.url + path, params={"watch": "1", **options}, ssl=self.ssl_context
        ) as response:
            async for line in response.content:
                yield json.loads(line)

    def stored(self, key: str) -> Object:
        """
        Decode what is stored under a key.
        """
        value = self.raw.raw_get(key)
        assert value is not None, key
        decoded: Object = json.loads(value)
        return decoded


def _body(answer: Answer) -> Object:
    assert answer.status in (200, 201), answer
    body: Object = answer.body
    return body


async def eventually(probe: Callable[[], Awaitable[T | None]]) -> T:
    """
    Ask until there is an answer: a real server's own controllers take their time.
    """
    deadline = Deadline(WAIT_SECONDS)
    while True:
        found = await probe()
        if found:
            return found
        assert not deadline.has_passed(), f"not after {deadline.waited_seconds:.0f} s"
        await asyncio.sleep(0.05)
