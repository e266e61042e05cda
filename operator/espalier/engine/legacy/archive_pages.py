"""
Looks after archives: which pages there are, copies of them, and which are old enough to go.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from espalier.engine.ports.archive import DAMAGES, ArchiveCopies, ArchivePage, ArchivePages


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """
    One page and its copy.

    Attributes:
        name: Of the copy; empty if the page cannot be read, so that nothing was copied.
        reason: Why it cannot.
    """

    page: ArchivePage
    name: str
    reason: str = ""


async def export_archive(
    source: ArchivePages, target: ArchiveCopies, *, crd: str | None = None
) -> tuple[Copied, ...]:
    """
    Copy the pages of one definition, or all; nothing is removed.

    May be interrupted and done again: what is there already is not copied twice.

    Raises:
        ClusterError: The archive cannot be read.
        SourceError: A folder cannot.
        ArchiveFullError: The target has no room.
    """
    copied = []
    for page in await source.pages(crd):
        try:
            entries = await source.read_page(page)
        except DAMAGES as error:
            copied.append(Copied(page=page, name="", reason=str(error)))
            continue
        copied.append(Copied(page=page, name=await target.keep_copy(page, entries)))
    return tuple(copied)


async def old_pages(
    archive: ArchivePages, *, now: str, age_seconds: float, crd: str | None = None
) -> tuple[ArchivePage, ...]:
    """
    List the pages that are older than that, oldest first.

    A page without a readable creation time is not among them.

    Args:
        now: RFC 3339 in UTC.
    """
    limit = datetime.fromisoformat(now) - timedelta(seconds=age_seconds)
    return tuple(page for page in await archive.pages(crd) if _is_before(page.created, limit))


async def remove_pages(archive: ArchivePages, pages: Sequence[ArchivePage]) -> None:
    """
    Remove these pages and no others; what is in them cannot be restored any more.

    Raises:
        ClusterError: A page cannot be removed; those before it are.
        SourceError: Likewise, of a folder.
    """
    for page in pages:
        await archive.remove_page(page)


def total_bytes(pages: Sequence[ArchivePage]) -> int:
    """
    Return the size of the pages together, as stored.
    """
    return sum(page.size_bytes for page in pages)


def _is_before(created: str, limit: datetime) -> bool:
    try:
        return datetime.fromisoformat(created) < limit
    except (ValueError, TypeError):
        # No time, or one without a time zone, which cannot be compared.
        return False
