"""
List, show, copy and expire the data that pruning removed.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click

from espalier import cluster
from espalier.cli.checks.definition_names import full_name
from espalier.cli.options import Target, without_kind
from espalier.cli.output.exit_codes import Exit
from espalier.cli.output.terminal import Terminal
from espalier.cli.result import Column, Finding, Level, Result, Subject, Table
from espalier.cluster import Cluster, FolderArchive
from espalier.engine import (
    Copied,
    additions,
    export_archive,
    old_pages,
    remove_pages,
    total_bytes,
)
from espalier.engine.ports import DAMAGES, ArchivePage, ArchivePages, UnreadablePage
from espalier.paths import JSON, render_pointer
from espalier.plurals import counted


@dataclass(slots=True)
class _Shown:
    """
    The contents of the pages of one definition, and the pages that could not be read.
    """

    crd: str
    fields: list[dict[str, JSON]] = field(default_factory=list)
    unreadable: list[UnreadablePage] = field(default_factory=list)


def listed(target: Target, crd: str | None, folder: Path | None) -> Result:
    """
    List the pages.

    Args:
        crd: Only those of this definition.
        folder: Where an exported archive is; None for the cluster.

    Raises:
        EspalierError: The cluster or the archive could not be read.
    """
    pages = asyncio.run(_pages(target, _named(crd), folder))
    broken = [page for page in pages if not page.is_whole]
    summary = f"{counted(len(pages), 'page')}, {total_bytes(pages):,} bytes"
    cut = f"; not whole: {', '.join(page.name for page in broken)}" if broken else ""
    return _result_of("ArchiveList", f"{summary}{cut}", pages, is_incomplete=bool(broken))


def shown(target: Target, crd: str, folder: Path | None, *, with_values: bool) -> Result:
    """
    Show the fields of one definition's objects; the arguments are those of ``listed``.

    Raises:
        EspalierError: The cluster or the archive could not be read.
    """
    found = asyncio.run(_entries(target, without_kind(crd), folder, with_values=with_values))
    items = found.fields
    titles = ["OBJECT", "PATH", *(["VALUE"] if with_values else []), "PAGE"]
    keys = ["object", "path", *(["value"] if with_values else []), "page"]
    rows = [[_cell(item[key], is_value=key == "value") for key in keys] for item in items]
    columns = [Column(title=title, is_wide=title == "PAGE") for title in titles]
    objects = len({item["object"] for item in items if isinstance(item["object"], str)})
    of = f"{counted(objects, 'object')} of {found.crd}"
    return Result(
        kind="ArchiveContent",
        summary=f"{counted(len(items), 'field')} of {of}",
        findings=tuple(unreadable_finding(page) for page in found.unreadable),
        tables=(Table(columns=columns, rows=rows),),
        items=tuple(items),
        counts={"fields": len(items), "objects": objects},
        is_incomplete=bool(found.unreadable),
    )


def exported(target: Target, folder: Path, crd: str | None) -> Result:
    """
    Copy pages to a folder.

    Raises:
        EspalierError: The cluster or the archive could not be read.
    """
    copies = asyncio.run(_export(target, folder, crd))
    left_out = [UnreadablePage(one.page.name, one.reason) for one in copies if not one.name]
    summary = f"{counted(len(copies) - len(left_out), 'page')} in {folder}"
    return _result_of(
        "CopyResult",
        f"{summary}; {len(left_out)} left out" if left_out else summary,
        [one.page for one in copies],
        findings=tuple(map(unreadable_finding, left_out)),
        is_incomplete=bool(left_out),
    )


def expired(  # noqa: PLR0913 - one argument an option
    terminal: Terminal,
    target: Target,
    folder: Path | None,
    older_than: float,
    crd: str | None,
    *,
    dry_run: bool,
    is_confirmed: bool,
) -> Result:
    """
    Remove old pages after confirmation.

    Args:
        older_than: The least age in seconds.

    Raises:
        EspalierError: The cluster or the archive could not be read.
    """
    old = asyncio.run(_old_pages(target, folder, older_than, _named(crd)))
    summary = f"{counted(len(old), 'page')}, {total_bytes(old):,} bytes"
    if dry_run or not old:
        return _result_of("ExpireResult", f"{summary}, to be removed", old)
    for page in old:
        terminal.print_notice(
            f"{page.name}: {page.crd}, {counted(page.objects, 'object')}, {page.created}"
        )
    if not terminal.confirm(f"Remove {summary} permanently?", is_answered=is_confirmed):
        click.get_current_context().exit(Exit.INCOMPLETE)
    asyncio.run(_remove_pages(target, folder, old))
    return _result_of("ExpireResult", f"{summary}, removed", old)


def _cell(content: JSON, *, is_value: bool) -> str:
    return json.dumps(content, ensure_ascii=False) if is_value else str(content)


def unreadable_finding(page: UnreadablePage) -> Finding:
    """
    Return the finding for a page that cannot be read.
    """
    return Finding(
        level=Level.ERROR,
        rule="archive/unreadable",
        subject=Subject(name=page.name),
        message=f"nothing can be restored from this page: {page.reason}",
    )


def _secrets(connected: Cluster, target: Target) -> ArchivePages:
    return connected.archive(target.operator_namespace)


def _named(crd: str | None) -> str | None:
    # A folder has full names only; in a cluster other names are looked up.
    return None if crd is None else without_kind(crd)


async def _full_name(connected: Cluster, crd: str | None) -> str | None:
    return None if crd is None else await full_name(connected, crd)


async def _pages(target: Target, crd: str | None, folder: Path | None) -> Sequence[ArchivePage]:
    if folder is not None:
        return await FolderArchive(folder).pages(crd)
    async with target.connect() as connected:
        return await _secrets(connected, target).pages(await _full_name(connected, crd))


async def _entries(target: Target, crd: str, folder: Path | None, *, with_values: bool) -> _Shown:
    if folder is not None:
        return await _fields(FolderArchive(folder), crd, with_values=with_values)
    async with target.connect() as connected:
        crd = await full_name(connected, crd)
        return await _fields(_secrets(connected, target), crd, with_values=with_values)


async def _fields(source: ArchivePages, crd: str, *, with_values: bool) -> _Shown:
    shown = _Shown(crd)
    for page in await source.pages(crd):
        try:
            entries = await source.read_page(page)
        except DAMAGES as error:
            shown.unreadable.append(UnreadablePage(page.name, str(error)))
            continue
        for entry in entries:
            for addition in additions(entry.patch):
                item: dict[str, JSON] = {
                    "object": str(entry.key),
                    "path": render_pointer(addition.pointer),
                    "page": page.name,
                }
                shown.fields.append(item | ({"value": addition.value} if with_values else {}))
    return shown


async def _export(target: Target, folder: Path, crd: str | None) -> Sequence[Copied]:
    async with target.connect() as connected:
        source = _secrets(connected, target)
        crd = await _full_name(connected, crd)
        return await export_archive(source, FolderArchive(folder), crd=crd)


async def _old_pages(
    target: Target, folder: Path | None, age_seconds: float, crd: str | None
) -> Sequence[ArchivePage]:
    now = cluster.SystemClock().utc_timestamp()
    if folder is not None:
        return await old_pages(FolderArchive(folder), now=now, age_seconds=age_seconds, crd=crd)
    async with target.connect() as connected:
        source = _secrets(connected, target)
        crd = await _full_name(connected, crd)
        return await old_pages(source, now=now, age_seconds=age_seconds, crd=crd)


async def _remove_pages(target: Target, folder: Path | None, pages: Sequence[ArchivePage]) -> None:
    if folder is not None:
        await remove_pages(FolderArchive(folder), pages)
        return
    async with target.connect() as connected:
        await remove_pages(_secrets(connected, target), pages)


def _result_of(
    kind: str,
    summary: str,
    pages: Sequence[ArchivePage],
    *,
    findings: tuple[Finding, ...] = (),
    is_incomplete: bool = False,
) -> Result:
    titles = ("DEFINITION", "OBJECTS", "BYTES", "CREATED")
    columns = [Column(title=title) for title in titles]
    columns += [Column(title="WHOLE", is_wide=True), Column(title="PAGE", is_wide=True)]
    rows = [
        [
            page.crd or "(unknown)",
            str(page.objects),
            str(page.size_bytes),
            page.created,
            "yes" if page.is_whole else "no",
            page.name,
        ]
        for page in pages
    ]
    return Result(
        kind=kind,
        summary=summary,
        findings=findings,
        tables=(Table(columns=columns, rows=rows),),
        items=tuple(_item(page) for page in pages),
        counts={"pages": len(pages), "bytes": total_bytes(pages)},
        is_incomplete=is_incomplete,
    )


def _item(page: ArchivePage) -> JSON:
    return {
        "name": page.name,
        "crd": page.crd,
        "objects": page.objects,
        "bytes": page.size_bytes,
        "created": page.created,
        "whole": page.is_whole,
    }
