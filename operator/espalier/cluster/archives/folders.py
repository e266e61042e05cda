"""
The archive of removed data, in a folder of files.
"""

import asyncio
import contextlib
import hashlib
import os
import re
import time
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from espalier.cluster.archives.compression import pack_entries, unpack_entries
from espalier.cluster.archives.fingerprints import (
    MAX_AGE_SECONDS,
    Fingerprint,
    Kept,
    fingerprints_of,
)
from espalier.cluster.transport.paths import name_of
from espalier.crd import Definition
from espalier.engine.ports.archive import ArchiveEntry, ArchivePage, UnreadablePage
from espalier.errors import ArchiveFullError, SourceError

MAX_TOTAL_BYTES = 64 * 1024 * 1024
"""The limit for all archives in the folder together."""

_NAME_FILE = "definition"
"""The file with the definition's name, since the folder's name may be cut."""

_FILE = re.compile(r"(?P<sequence>\d{8,12})-(?P<digest>[0-9a-f]{64})\.jsonl\.gz")


class FolderArchive:
    """
    Implement ``espalier.engine.ports.archive.Archive`` with a file for each page.

    Each definition has a folder of its own.

    Also ``ArchivePages`` and ``ArchiveCopies`` of ``espalier.engine.legacy.archive_pages``.

    Args:
        folder: The folder; it is created with the first page, and only its owner can read it.
        max_total_bytes: The limit for all files in the folder.
    """

    def __init__(self, folder: Path, *, max_total_bytes: int = MAX_TOTAL_BYTES) -> None:
        self._folder = folder
        self._max_total_bytes = max_total_bytes
        self._kept: Kept[Path] = Kept()
        self._known: set[str] = set()
        self._storing = asyncio.Lock()

    @property
    def secret_verbs(self) -> tuple[str, ...]:
        """
        Empty: a folder needs no permissions in a cluster.
        """
        return ()

    def begin(self, definition: Definition) -> None:
        """
        Make the next ``store`` list the pages of this definition again.
        """
        self._known.discard(definition.name)

    async def store(self, definition: Definition, entries: Sequence[ArchiveEntry]) -> str:
        """
        Store the entries that are not stored yet. They are durable on return.

        Returns:
            The path of the file.
        """
        async with self._storing:
            try:
                return str(await asyncio.to_thread(self._store, definition.name, entries))
            except (OSError, ValueError) as error:
                raise ArchiveFullError(f"{self._folder}: cannot be archived: {error}") from error

    async def entries(
        self,
        definition: Definition,
        *,
        pass_over: "Callable[[UnreadablePage], None] | None" = None,
    ) -> AsyncIterator[ArchiveEntry]:
        """
        Read all entries of this definition, newest first.

        Args:
            pass_over: Called with each page that cannot be read; if None, that is an error.

        Raises:
            SourceError: A file cannot be read, or is damaged.
        """
        place = self._place(definition.name)
        for file in reversed(await asyncio.to_thread(_pages, place)):
            try:
                entries = await asyncio.to_thread(_read, file)
            except SourceError as error:
                if pass_over is None:
                    raise
                pass_over(UnreadablePage(str(file), error.detail))
                continue
            for entry in reversed(entries):
                yield entry

    async def keep_copy(self, page: ArchivePage, entries: Sequence[ArchiveEntry]) -> str:
        """
        Store a copy of a page from another archive, unless it is stored already.

        Returns:
            The path of the file.
        """
        async with self._storing:
            try:
                packed = await asyncio.to_thread(pack_entries, entries)
                return str(await asyncio.to_thread(self._copy, page, packed))
            except (OSError, ValueError) as error:
                raise ArchiveFullError(f"{self._folder}: cannot be archived: {error}") from error

    async def pages(self, crd: str | None = None) -> tuple[ArchivePage, ...]:
        """
        Return the pages of one definition or of all definitions, oldest first.

        Raises:
            SourceError: A file cannot be read.
        """
        return await asyncio.to_thread(self._listed, crd)

    async def read_page(self, page: ArchivePage) -> list[ArchiveEntry]:
        """
        Return the entries of a page, in the order in which they were stored.

        Raises:
            SourceError: The file cannot be read, or is damaged.
        """
        return await asyncio.to_thread(_read, Path(page.name))

    async def remove_page(self, page: ArchivePage) -> None:
        """
        Delete a page permanently; it is no error if it does not exist.

        Raises:
            SourceError: The file cannot be removed.
        """
        try:
            await asyncio.to_thread(Path(page.name).unlink, missing_ok=True)
        except OSError as error:
            raise SourceError(page.name, f"cannot be removed: {error}") from error

    def _store(self, crd: str, entries: Sequence[ArchiveEntry]) -> Path:
        self._look_at(crd)
        new: dict[Fingerprint, ArchiveEntry] = {}
        found: list[Path] = []
        for fingerprint, entry in zip(fingerprints_of(entries), entries, strict=True):
            file = self._kept.page_with(fingerprint)
            if file is not None and _is_reliable(file):
                found.append(file)
            else:
                new[fingerprint] = entry
        if not new and found:
            return found[0]
        file = self._write(crd, pack_entries([*new.values()]))
        self._kept.add(new, file)
        return file

    def _look_at(self, crd: str) -> None:
        """
        Read the pages of a definition, unless they are known.
        """
        if crd in self._known:
            return
        for file in _pages(self._place(crd)):
            # The entries of an unreadable file count as not archived.
            with contextlib.suppress(SourceError):
                self._kept.add(fingerprints_of(_read(file)), file)
        self._known.add(crd)

    def _listed(self, crd: str | None) -> tuple[ArchivePage, ...]:
        places = sorted(self._folder.glob("archive-*")) if crd is None else [self._place(crd)]
        try:
            return tuple(_page_of(file) for place in places for file in _pages(place))
        except OSError as error:
            raise SourceError(str(self._folder), f"cannot be read: {error}") from error

    def _copy(self, page: ArchivePage, packed: bytes) -> Path:
        digest = hashlib.sha256(packed).hexdigest()
        files = _pages(self._place(page.crd))
        for file in files:
            if f"-{digest}." in file.name:
                return file
        # Another page has this number if the source has started to count from the beginning.
        is_free = page.sequence not in map(_sequence_of, files)
        file = self._write(page.crd, packed, sequence=page.sequence if is_free else None)
        with contextlib.suppress(ValueError):
            seconds = datetime.fromisoformat(page.created).timestamp()
            os.utime(file, (seconds, seconds))
        return file

    def _place(self, crd: str) -> Path:
        return self._folder / name_of("archive", crd)

    def _write(self, crd: str, packed: bytes, *, sequence: int | None = None) -> Path:
        total_bytes = sum(file.stat().st_size for file in self._folder.glob("*/*.jsonl.gz"))
        if total_bytes + len(packed) > self._max_total_bytes:
            raise ArchiveFullError(
                f"{self._folder}: has {total_bytes} bytes, and the maximum is "
                f"{self._max_total_bytes}; delete files that are no longer needed"
            )
        place = self._place(crd)
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not (place / _NAME_FILE).exists():
            _write_durably(place / _NAME_FILE, crd.encode())
        if sequence is None:
            sequence = max(map(_sequence_of, _pages(place)), default=0) + 1
        digest = hashlib.sha256(packed).hexdigest()
        file = place / f"{sequence:08d}-{digest}.jsonl.gz"
        _write_durably(file, packed)
        for folder in (place, self._folder, self._folder.absolute().parent):
            _sync_folder(folder)
        return file


def _pages(place: Path) -> list[Path]:
    if not place.is_dir():
        return []
    files = [file for file in place.iterdir() if _FILE.fullmatch(file.name)]
    return sorted(files, key=lambda file: (_sequence_of(file), file.name))


def _sequence_of(file: Path) -> int:
    return int(file.name.partition("-")[0])


def _is_reliable(file: Path) -> bool:
    try:
        return time.time() - file.stat().st_mtime <= MAX_AGE_SECONDS
    except FileNotFoundError:
        return False


def _page_of(file: Path) -> ArchivePage:
    status = file.stat()
    name_file = file.with_name(_NAME_FILE)
    made = datetime.fromtimestamp(int(status.st_mtime), tz=UTC)
    try:
        objects, is_whole = len(_read(file)), True
    except SourceError:
        objects, is_whole = 0, False
    return ArchivePage(
        name=str(file),
        crd=name_file.read_text(encoding="utf-8") if name_file.exists() else "",
        sequence=_sequence_of(file),
        objects=objects,
        size_bytes=status.st_size,
        created=made.strftime("%Y-%m-%dT%H:%M:%SZ"),
        is_whole=is_whole,
        places=(str(file),),
    )


def _read(file: Path) -> list[ArchiveEntry]:
    try:
        packed = file.read_bytes()
        if f"-{hashlib.sha256(packed).hexdigest()}." not in file.name:
            raise SourceError(str(file), "the archive is damaged: its digest differs")
        return unpack_entries(packed)
    except (OSError, ValueError) as error:
        raise SourceError(str(file), f"the archive cannot be read: {error}") from error


def _write_durably(file: Path, content: bytes) -> None:
    # The file gets its name when it is complete, so that a page is never read half written.
    partial = file.with_name(f".{file.name}.{os.getpid()}")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        partial.rename(file)
    finally:
        with contextlib.suppress(FileNotFoundError):
            partial.unlink()


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
