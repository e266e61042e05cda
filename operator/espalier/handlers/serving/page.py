"""
Serves the page to people, by default on loopback, so that only ``kubectl port-forward`` reaches it.

RBAC on ``pods/portforward`` is then its lock. A foreign name in the Host header is refused: else a
web site could have a browser read the page through a name that it resolves to loopback.
"""

from collections.abc import Callable, Mapping
from ipaddress import ip_address
from types import MappingProxyType

from aiohttp import web
from aiohttp.typedefs import Middleware
from yarl import URL

from espalier.handlers.serving.freshness import Fresh
from espalier.handlers.serving.listener import Handler, bounded_application
from espalier.observe import page
from espalier.observe.state import Snapshot

REFRESH_SECONDS = 5

HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "Content-Security-Policy": (
            "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none';"
            " form-action 'none'; frame-ancestors 'none'"
        ),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
    }
)

_MISDIRECTED = 421


def page_application(
    snapshot: Callable[[], Snapshot], *, is_local: bool, with_messages: bool
) -> web.Application:
    """
    Make the web application of the page.

    Args:
        snapshot: Makes the record.
        is_local: Whether it is served on loopback only, so that Host must name loopback.
        with_messages: Whether the messages of conditions are shown, which name objects.
    """
    current = Fresh(snapshot)
    whole = Fresh(lambda: page.render_page(current(), with_messages=with_messages))
    rendered: Fresh[dict[str, str]] = Fresh(dict)

    async def overview(_: web.Request) -> web.Response:
        return _html(whole())

    async def definition(request: web.Request) -> web.Response:
        name = request.match_info["name"]
        pages = rendered()
        if name not in pages:
            text = page.render_definition(current(), name, with_messages=with_messages)
            if text is None:
                return web.Response(status=404, text="there is no such definition\n")
            pages[name] = text
        return _html(pages[name])

    async def style(_: web.Request) -> web.Response:
        return web.Response(text=page.stylesheet(), content_type="text/css")

    app = bounded_application(_guard(is_local=is_local))
    app.router.add_get("/", overview)
    app.router.add_get("/definitions/{name}", definition)
    app.router.add_get("/style.css", style)
    return app


def _guard(*, is_local: bool) -> Middleware:
    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        response: web.StreamResponse
        if is_local and not is_loopback(request.headers.get("Host", "")):
            response = web.Response(
                status=_MISDIRECTED, text="this page is for localhost and 127.0.0.1 only\n"
            )
        else:
            try:
                response = await handler(request)
            except web.HTTPNotFound:
                response = web.Response(status=404, text="there is no such page\n")
        response.headers.update(HEADERS)
        return response

    return guarded


def is_loopback(host: str) -> bool:
    """
    Report whether a Host header names this machine by a name that no one else resolves.
    """
    try:
        name = URL(f"http://{host}").host or ""
    except ValueError:
        return False
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def _html(text: str) -> web.Response:
    headers = {"Refresh": str(REFRESH_SECONDS)}
    return web.Response(text=text, content_type="text/html", headers=headers)
