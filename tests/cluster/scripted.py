"""
A real HTTP server on loopback that answers as it is told, and a clock that nobody waits for.
"""

import asyncio
import itertools
import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from aiohttp import web
from aiohttp.test_utils import TestServer

from espalier.cluster import Cluster, Connection, connect_to
from espalier.cluster.archives.index import NAME as INDEX
from espalier.cluster.auth.credentials import FixedSource, TokenSource
from espalier.cluster.resources.storage_versions import storage_version_hash
from espalier.crd import Definition, read_definition
from espalier.engine.ports import Endpoint, ObjectKey
from espalier.engine.ports.archive import ArchiveEntry

WIDGETS = Endpoint(
    group="example.com", version="v1", plural="widgets", kind="Widget", namespaced=True
)

CLOSING = web.AppKey("closing", asyncio.Event)


@dataclass
class ManualClock:
    """
    Notes each sleep and ends it at once, while real sockets are at work.
    """

    now_seconds: float = 1000.0
    timestamp: str = "2026-01-02T03:04:05Z"
    slept_seconds: list[float] = field(default_factory=list)

    def monotonic_seconds(self) -> float:
        return self.now_seconds

    def utc_timestamp(self) -> str:
        return self.timestamp

    async def sleep(self, seconds: float) -> None:
        self.slept_seconds.append(seconds)
        self.now_seconds += seconds


@dataclass(frozen=True)
class Reply:
    """
    Attributes:
        body: JSON if it is neither text nor bytes.
        pieces: Sent one by one instead of a body.
        cut: Closes the connection in the middle of the pieces.
        stuck: Says nothing more until the client goes away.
    """

    status: int = 200
    body: Any = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    pieces: tuple[bytes, ...] | None = None
    cut: bool = False
    stuck: bool = False


@dataclass(frozen=True)
class Seen:
    method: str
    path: str
    query: dict[str, str]
    headers: Mapping[str, str]
    body: Any


class Script:
    """
    Answers requests with its replies in turn; with none left, that is a failure of the test.
    """

    def __init__(self, *replies: Reply) -> None:
        self.replies = deque(replies)
        self.seen: list[Seen] = []

    async def answer(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        self.seen.append(
            Seen(
                request.method,
                request.rel_url.raw_path,
                dict(request.query),
                request.headers,
                json.loads(raw) if raw else None,
            )
        )
        if not self.replies:
            return web.json_response({"message": "the script is at its end"}, status=418)
        return await _play(request, self.replies.popleft())


async def _play(request: web.Request, reply: Reply) -> web.StreamResponse:
    if reply.pieces is None and not reply.stuck:
        plain = reply.body if isinstance(reply.body, (bytes, str)) else json.dumps(reply.body)
        content = plain.encode() if isinstance(plain, str) else plain
        return web.Response(status=reply.status, body=content, headers=dict(reply.headers))
    response = web.StreamResponse(status=reply.status, headers=dict(reply.headers))
    response.enable_chunked_encoding()
    await response.prepare(request)
    for piece in reply.pieces or ():
        await response.write(piece)
    transport = request.transport
    if reply.cut and transport is not None:
        transport.close()
    if reply.stuck:
        await request.app[CLOSING].wait()
    return response


def status_of(code: int, reason: str, message: str = "", **more: Any) -> dict[str, Any]:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
        **more,
    }


class Shelf:
    """
    Keeps objects as the API server does, as far as resource versions and labels go.

    Attributes:
        refusals: What comes instead of an answer, by method; the archive's index is left out.
        lost_answers: The methods whose next answer is lost, likewise.
        index_refusal: What comes instead of any answer about the archive's index.
        seen: Method and path of each request.
    """

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.refusals: deque[tuple[str, Reply]] = deque()
        self.lost_answers: set[str] = set()
        self.index_refusal: Reply | None = None
        self.seen: list[tuple[str, str]] = []
        self._versions = itertools.count(1)
        self._uids = itertools.count(1)

    @property
    def secrets(self) -> dict[str, dict[str, Any]]:
        """
        The Secrets by their path.
        """
        return {path: held for path, held in self.objects.items() if "/secrets/" in path}

    def lists(self) -> int:
        """
        How often Secrets have been listed.
        """
        return sum(path.endswith("/secrets") for method, path in self.seen if method == "GET")

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.seen.append((request.method, request.path))
        raw = await request.read()
        body = json.loads(raw) if raw else {}
        if INDEX in (request.path.rpartition("/")[2], body.get("metadata", {}).get("name")):
            if self.index_refusal is not None:
                return await _play(request, self.index_refusal)
            return self._answer(request, body)
        if self.refusals and self.refusals[0][0] == request.method:
            return await _play(request, self.refusals.popleft()[1])
        answer = self._answer(request, body)
        if request.method in self.lost_answers:
            self.lost_answers.discard(request.method)
            return web.json_response(status_of(503, "ServiceUnavailable"), status=503)
        return answer

    def _answer(self, request: web.Request, body: dict[str, Any]) -> web.Response:
        path = request.path
        if request.method == "GET" and path not in self.objects and self._is_collection(path):
            return self._list(path, request.query.get("labelSelector", ""))
        if request.method == "POST":
            path = f"{path}/{body['metadata']['name']}"
            if path in self.objects:
                return web.json_response(status_of(409, "AlreadyExists"), status=409)
            body["metadata"]["uid"] = f"uid-{next(self._uids)}"
            return self._store(path, body)
        if path not in self.objects:
            return web.json_response(status_of(404, "NotFound"), status=404)
        held = self.objects[path]
        if request.method == "GET":
            return web.json_response(held)
        if request.method == "DELETE":
            return self._delete(path, body)
        if body["metadata"].get("resourceVersion") != held["metadata"]["resourceVersion"]:
            return web.json_response(status_of(409, "Conflict"), status=409)
        if request.method == "PATCH":
            body = held | {"spec": held["spec"] | body["spec"]}
        return self._store(path, body)

    def _delete(self, path: str, options: dict[str, Any]) -> web.Response:
        uid = self.objects[path]["metadata"]["uid"]
        if options.get("preconditions", {}).get("uid", uid) != uid:
            return web.json_response(status_of(409, "Conflict"), status=409)
        return web.json_response(self.objects.pop(path))

    def _is_collection(self, path: str) -> bool:
        return path.rsplit("/", 1)[-1] in {"secrets", "configmaps", "leases"}

    def _store(self, path: str, body: dict[str, Any]) -> web.Response:
        version = str(next(self._versions))
        self.objects[path] = body | {"metadata": body["metadata"] | {"resourceVersion": version}}
        return web.json_response(self.objects[path])

    def _list(self, path: str, selector: str) -> web.Response:
        wanted = dict(term.split("=") for term in selector.split(",") if term)
        items = [
            {"metadata": held["metadata"]}
            for where, held in self.objects.items()
            if where.startswith(f"{path}/") and wanted.items() <= held["metadata"]["labels"].items()
        ]
        return web.json_response({"metadata": {}, "items": items})


class Handler(Protocol):
    """
    Answers requests.
    """

    async def answer(self, request: web.Request) -> web.StreamResponse: ...


@web.middleware
async def _discover(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """
    Show in discovery that widgets are stored at the version that is asked.
    """
    match request.path.split("/"):
        case ["", "apis", WIDGETS.group, version]:
            return web.json_response(
                discovery(storage_version_hash(WIDGETS._replace(version=version)))
            )
        case _:
            return await handler(request)


def discovery(shown: str | None) -> dict[str, Any]:
    """
    Make the discovery document of a group and version, with or without a hash.
    """
    resource = {"name": "widgets", "kind": "Widget", "namespaced": True}
    if shown is not None:
        resource["storageVersionHash"] = shown
    return {"kind": "APIResourceList", "resources": [resource]}


@asynccontextmanager
async def serving(handler: Handler, *, is_discovered: bool = True) -> AsyncIterator[str]:
    app = web.Application(middlewares=[_discover] if is_discovered else [])
    app[CLOSING] = asyncio.Event()
    app.router.add_route("*", "/{path:.*}", handler.answer)
    server = TestServer(app)
    await server.start_server()
    try:
        yield str(server.make_url("")).rstrip("/")
    finally:
        app[CLOSING].set()
        await server.close()


@asynccontextmanager
async def connected(
    handler: Handler,
    *,
    clock: ManualClock | None = None,
    credentials: TokenSource | None = None,
    is_discovered: bool = True,
) -> AsyncIterator[Cluster]:
    async with serving(handler, is_discovered=is_discovered) as server:
        connection = Connection(
            server=server,
            tls=None,
            credentials=credentials or FixedSource("Bearer sesame"),
            origin="a test",
        )
        async with connect_to(connection, clock or ManualClock()) as cluster:
            yield cluster


def crd(name: str = "widgets.example.com", **metadata: Any) -> dict[str, Any]:
    plural, _, group = name.partition(".")
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": name,
            "uid": f"uid-of-{name}",
            "resourceVersion": "7",
            "generation": 1,
            **metadata,
        },
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": plural},
            "versions": [
                {"name": "v1alpha1", "served": True, "storage": False},
                {"name": "v1", "served": True, "storage": True},
            ],
        },
        "status": {"storedVersions": ["v1alpha1", "v1"]},
    }


def definition(name: str = "widgets.example.com", **metadata: Any) -> Definition:
    return read_definition(crd(name, **metadata))


def entry(name: str, value: Any = "kept") -> ArchiveEntry:
    return ArchiveEntry(
        api_version="example.com/v1",
        kind="Widget",
        key=ObjectKey("default", name),
        uid=f"uid-of-{name}",
        resource_version="3",
        patch=({"op": "add", "path": "/spec/extra", "value": value},),
    )
