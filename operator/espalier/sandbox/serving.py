"""
The HTTP application: routes, responses, faults, and the log of requests.
"""

import asyncio
from dataclasses import dataclass, field, replace

import orjson
from aiohttp import web

from espalier.sandbox import discovery
from espalier.sandbox.calls import (
    ObjectRequest,
    RequestTarget,
    check_media_type,
    check_options,
    json_body,
    target_of,
    verb_of,
    view_of,
)
from espalier.sandbox.catalogue import CodecCatalogue
from espalier.sandbox.codecs import Codec
from espalier.sandbox.faults import Fault, Faults
from espalier.sandbox.kinds import NAMESPACES, REVIEWS, RULES_REVIEWS
from espalier.sandbox.listing import ListHandler, viewed
from espalier.sandbox.openapi import PREFIX, openapi_document
from espalier.sandbox.protobuf import PROTOBUF, namespace_of
from espalier.sandbox.store import Store
from espalier.sandbox.watching import Watching
from espalier.sandbox.wire import Object, RequestRefusal, bad_request, not_found
from espalier.sandbox.writing import Writing

_MAX_BODY_BYTES = 3 * 1024 * 1024
_CREATED = 201


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """
    One request, with the status of its response.

    Attributes:
        verb: The verb as RBAC names it; empty if the path is not a resource.
        status: The status of the response; 0 if the connection was closed instead.
        user: The user that the request acts as; empty for the one that sent it.
        body: The body of the request.
    """

    method: str
    path: str
    query: str
    verb: str
    user_agent: str
    content_type: str
    status: int
    user: str = ""
    body: bytes = field(default=b"", repr=False)

    @property
    def mutates(self) -> bool:
        """
        Whether the request is a write.
        """
        return self.verb in ("create", "update", "patch", "delete", "deletecollection")


class Server:
    """
    Respond to requests.
    """

    def __init__(
        self, store: Store, catalogue: CodecCatalogue, faults: Faults, watching: Watching
    ) -> None:
        self._catalogue = catalogue
        self._faults = faults
        self._watching = watching
        self._listing = ListHandler(store)
        self._writing = Writing(store)
        self.log: list[Request] = []

    def application(self) -> web.Application:
        """
        Return the aiohttp application.
        """
        app = web.Application(client_max_size=_MAX_BODY_BYTES)
        app.router.add_route("*", "/{tail:.*}", self._handle)
        return app

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        target = target_of(request.path)
        codec = self._codec(target)
        verb = verb_of(request.method, target, request.query) if target and codec else ""
        body = await request.read()
        fault = self._faults.find(request.method, request.path, verb)
        status = 0
        response: web.StreamResponse
        try:
            if fault is not None and not fault.after_write:
                response = await _fail(request, fault)
            else:
                response = await self._answer(request, codec, target, verb, body)
                if fault is not None:
                    response = await _fail(request, fault)
            if request.transport is not None and not request.transport.is_closing():
                status = response.status
        except RequestRefusal as refusal:
            response = _refuse(refusal)
            status = response.status
        finally:
            self.log.append(_logged(request, verb, status, body))
        return response

    def _codec(self, target: RequestTarget | None) -> Codec | None:
        if target is None:
            return None
        codec = self._catalogue.find(target.group, target.version, target.plural)
        if codec is None or (target.namespace and not codec.kind.namespaced):
            return None
        if target.name and codec.kind.namespaced and not target.namespace:
            return None
        return codec

    async def _answer(
        self,
        request: web.Request,
        codec: Codec | None,
        target: RequestTarget | None,
        verb: str,
        body: bytes,
    ) -> web.StreamResponse:
        if codec is None or target is None:
            return self._document(request)
        call = ObjectRequest(
            verb=verb,
            target=target,
            options=request.query,
            content_type=request.headers.get("Content-Type", "").partition(";")[0].strip(),
            user_agent=request.headers.get("User-Agent", ""),
            view=view_of(request.headers.get("Accept", "")),
            body=body,
        )
        kind = codec.kind
        if target.subresource and not (target.subresource == "status" and kind.has_status):
            raise not_found(kind.group, kind.plural, target.name)
        if kind is NAMESPACES and call.content_type == PROTOBUF:
            sent = orjson.dumps(namespace_of(body))
            call = replace(call, body=sent, content_type="application/json")
        resource = "/".join(part for part in (kind.plural, target.subresource) if part)
        self._faults.check(verb, kind.group, resource, target.namespace)
        check_media_type(call)
        if verb == "watch":
            return await self._watch(request, codec, call)
        if kind is REVIEWS and verb == "create":
            return _json(self._review(call), status=_CREATED)
        if kind is RULES_REVIEWS and verb == "create":
            return _json(self._review_rules(call), status=_CREATED)
        if kind.namespaced and not target.namespace and verb == "create":
            return _unknown()
        return self._respond(codec, call)

    def _document(self, request: web.Request) -> web.Response:
        path = request.path
        if path in ("/healthz", "/livez", "/readyz"):
            return web.Response(text="ok")
        is_openapi = path.startswith(PREFIX)
        document = openapi_document if is_openapi else discovery.document
        found = document(path, self._catalogue.kinds())
        if found is None or request.method != "GET":
            return _unknown()
        return _json(found)

    def _respond(self, codec: Codec, call: ObjectRequest) -> web.Response:
        check_options(call)
        status = 200
        match call.verb:
            case "get":
                answer = self._get(codec, call)
            case "list":
                return _json(self._listing.list(codec, call))
            case "create":
                answer, status = self._writing.create(codec, call), _CREATED
            case "update":
                if not call.target.name:
                    raise bad_request("name must be provided")
                answer = self._writing.update(codec, call)
            case "patch":
                answer, created = self._writing.patch(codec, call)
                status = _CREATED if created else status
            case "delete":
                answer = self._writing.delete(codec, call)
            case "deletecollection":
                return _json(self._delete_all(codec, call))
            case _:
                raise RequestRefusal(
                    status=405,
                    reason="MethodNotAllowed",
                    message="the server does not allow this method on the requested resource",
                    details={},
                )
        if answer["kind"] != "Status":
            answer = viewed(answer, call.view)
        return _json(answer, status=status)

    def _get(self, codec: Codec, call: ObjectRequest) -> Object:
        target = call.target
        found = self._listing.get(codec, target.namespace, target.name)
        if found is None:
            raise not_found(codec.kind.group, codec.kind.plural, target.name)
        return found

    def _delete_all(self, codec: Codec, call: ObjectRequest) -> Object:
        listed = self._listing.list(codec, call)
        self._writing.delete_all(codec, listed)
        return listed

    def _review(self, call: ObjectRequest) -> Object:
        review = json_body(call.body, REVIEWS.kind)
        asked = (review.get("spec") or {}).get("resourceAttributes") or {}
        resource = "/".join(
            part for part in (asked.get("resource", ""), asked.get("subresource", "")) if part
        )
        denied = self._faults.is_denied(asked.get("verb", ""), asked.get("group", ""), resource)
        status = {"allowed": False, "reason": "scripted"} if denied else {"allowed": True}
        return {**review, "metadata": {}, "status": status}

    def _review_rules(self, call: ObjectRequest) -> Object:
        review = json_body(call.body, RULES_REVIEWS.kind)
        # All but some is not a list of rules.
        everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
        status = {
            "resourceRules": [] if self._faults.has_denials else [everything],
            "nonResourceRules": [],
            "incomplete": self._faults.has_denials,
        }
        return {**review, "metadata": {}, "status": status}

    async def _watch(
        self, request: web.Request, codec: Codec, call: ObjectRequest
    ) -> web.StreamResponse:
        self._watching.check(call)
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        try:
            async for event in self._watching.events(codec, call):
                await response.write(orjson.dumps(event) + b"\n")
            await response.write_eof()
        except ConnectionError:
            # The client has closed the connection, which is how watches end.
            pass
        return response


async def _fail(request: web.Request, fault: Fault) -> web.Response:
    if fault.status:
        raise fault.refusal()
    if request.transport is not None:
        request.transport.abort()
    # The connection is closed by now; aiohttp only requires a return value.
    await asyncio.sleep(0)
    return web.Response(status=500)


def _refuse(refusal: RequestRefusal) -> web.Response:
    headers = {}
    seconds = (refusal.details or {}).get("retryAfterSeconds")
    if seconds is not None:
        headers["Retry-After"] = str(seconds)
    return _json(refusal.body(), status=refusal.status, headers=headers)


def _unknown() -> web.Response:
    return web.Response(status=404, text="404 page not found\n")


def _json(
    body: Object, *, status: int = 200, headers: dict[str, str] | None = None
) -> web.Response:
    return web.Response(
        body=orjson.dumps(body, option=orjson.OPT_APPEND_NEWLINE),
        status=status,
        headers=headers,
        content_type="application/json",
    )


def _logged(request: web.Request, verb: str, status: int, body: bytes) -> Request:
    return Request(
        method=request.method,
        path=request.path,
        query=request.query_string,
        verb=verb,
        user_agent=request.headers.get("User-Agent", ""),
        content_type=request.headers.get("Content-Type", ""),
        status=status,
        user=request.headers.get("Impersonate-User", ""),
        body=body,
    )
