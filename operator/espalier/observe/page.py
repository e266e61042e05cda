"""
Renders the record as HTML: no script, no asset from elsewhere, and every text escaped.
"""

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from espalier.observe.state import Snapshot
from espalier.observe.views import definition_view, page_view


def render_page(snapshot: Snapshot, *, with_messages: bool) -> str:
    """
    Render the overview, as the operator serves it.

    Args:
        with_messages: Whether the messages of conditions are shown, which name objects.
    """
    page = page_view(snapshot, with_messages=with_messages)
    return _render("page.html", snapshot, page=page, everything=False, style="")


def render_definition(snapshot: Snapshot, name: str, *, with_messages: bool) -> str | None:
    """
    Render a definition's own page; None if there is no such definition.
    """
    found = next((one for one in snapshot.definitions if one.name == name), None)
    if found is None:
        return None
    card = definition_view(found, with_messages=with_messages)
    return _render("definition.html", snapshot, card=card, style="")


def render_file(snapshot: Snapshot, *, with_messages: bool) -> str:
    """
    Render all of it as one file, with the style in it.
    """
    page = page_view(snapshot, with_messages=with_messages)
    return _render("page.html", snapshot, page=page, everything=True, style=stylesheet())


@cache
def stylesheet() -> str:
    """
    Return the style of the pages.
    """
    loader = _environment().loader
    assert loader is not None  # noqa: S101 - it is given below
    return loader.get_source(_environment(), "style.css")[0]


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("espalier.observe"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters["breakable"] = _breakable
    return made


def _breakable(name: str) -> Markup:
    """
    Let a name break behind its dots only.
    """
    return Markup(".<wbr>").join(name.split("."))


def _render(template: str, snapshot: Snapshot, **values: object) -> str:
    found = _environment().get_template(template)
    return found.render(version=snapshot.version, taken_at=snapshot.taken_at, **values)
