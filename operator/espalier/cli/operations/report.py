"""
Write the state of all definitions as one document.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import orjson

from espalier.cli.options import Target
from espalier.cluster import MalformedDefinition
from espalier.crd import Definition
from espalier.observe.page import render_file
from espalier.observe.report import report_document, report_markdown
from espalier.observe.state import Snapshot, snapshot_of

Render = Callable[..., str]


def _json(snapshot: Snapshot, *, with_messages: bool) -> str:
    document = report_document(snapshot, with_messages=with_messages)
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


_FORMATS: Mapping[str, Render] = MappingProxyType(
    {"html": render_file, "markdown": report_markdown, "json": _json}
)


def written(
    target: Target, output: str, *, with_messages: bool
) -> tuple[str, Sequence[MalformedDefinition]]:
    """
    Read all definitions, and write the document.

    Args:
        output: ``html``, ``markdown`` or ``json``.
        with_messages: Whether it holds the messages of conditions, which name objects.

    Returns:
        The document, and the definitions that are not in it, since they could not be read.

    Raises:
        EspalierError: The cluster could not be read.
    """
    snapshot, unread = asyncio.run(_read(target))
    return _FORMATS[output](snapshot, with_messages=with_messages), unread


async def _read(target: Target) -> tuple[Snapshot, Sequence[MalformedDefinition]]:
    async with target.connect() as connected:
        found = [one async for one in connected.definitions.list_definitions()]
        definitions = [one for one in found if isinstance(one, Definition)]
        unread = [one for one in found if isinstance(one, MalformedDefinition)]
        return snapshot_of(definitions, taken_at=connected.clock.utc_timestamp()), unread
