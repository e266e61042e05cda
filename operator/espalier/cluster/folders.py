"""
The archive of removed data, in a folder of files.
"""

import asyncio
import contextlib
import hashlib
import os
import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from espalier.cluster.packing import pack_entries, unpack_entries
from espalier.cluster.places import name_of
from espalier.crd import Definition
from espalier.engine.ports import ArchiveEntry
from espalier.errors import ArchiveFullError, SourceError

MAX_TOTAL_BYTES = 64 * 1024 * 1024
"""Of all archives in the folder together."""

_FILE = re.compile(r"(?P<sequence>\d{8,12})-(?P<digest>[0-9a-f]{64})\.jsonl\.gz")


class FolderArchive:
    """
    Implements ``espalier.engine.ports.Archive``: a folder a definition, a file a page.

    Args:
        folder: Made when the first page is stored, readable by its owner only.
        max_total_bytes: Of all files in it.
    """

    def __init__(self, folder: Path, *, max_total_bytes: int = MAX_TOTAL_BYTES) -> None:
        self._folder = folder
        self._max_total_bytes = max_total_bytes
        self._storing = asyncio.Lock()

    async def store(self, definition: Definition, entries: Sequence[ArchiveEntry]) -> str:
        """
        Keep the entries; they are durable on return.

        Returns:
            The path of the file.
        """
        async with self._storing:
            try:
                return str(await asyncio.to_thread(self._write, definition, entries))
            except (OSError, ValueError) as error:
                raise ArchiveFullError(f"{self._folder}: cannot be archived: {error}") from error

    async def entries(self, definition: Definition) -> AsyncIterator[ArchiveEntry]:
        """
        Read all entries of this definition, newest first.

        Raises:
            SourceError: A file cannot be read, or was damaged.
        """
        place = self._place(definition)
        for file in reversed(await asyncio.to_thread(_pages, place)):
            for entry in reversed(await asyncio.to_thread(_read, file)):
                yield entry

    def _place(self, definition: Definition) -> Path:
        return self._folder / name_of("archive", definition.name)

    def _write(self, definition: Definition, entries: Sequence[ArchiveEntry]) -> Path:
        packed = pack_entries(entries)
        total_bytes = sum(file.stat().st_size for file in self._folder.glob("*/*.jsonl.gz"))
        if total_bytes + len(packed) > self._max_total_bytes:
            raise ArchiveFullError(
                f"{self._folder}: holds {total_bytes} bytes, of {self._max_total_bytes} that it "
                "may; delete what is not needed any more"
            )
        place = self._place(definition)
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        pages = _pages(place)
        last = int(pages[-1].name.partition("-")[0]) if pages else 0
        digest = hashlib.sha256(packed).hexdigest()
        file = place / f"{last + 1:08d}-{digest}.jsonl.gz"
        _write_durably(file, packed)
        for folder in (place, self._folder, self._folder.absolute().parent):
            _sync_folder(folder)
        return file


def _pages(place: Path) -> list[Path]:
    if not place.is_dir():
        return []
    return sorted(file for file in place.iterdir() if _FILE.fullmatch(file.name))


def _read(file: Path) -> list[ArchiveEntry]:
    try:
        packed = file.read_bytes()
        if f"-{hashlib.sha256(packed).hexdigest()}." not in file.name:
            raise SourceError(str(file), "the archive is damaged: its digest differs")
        return unpack_entries(packed)
    except (OSError, ValueError) as error:
        raise SourceError(str(file), f"the archive cannot be read: {error}") from error


def _write_durably(file: Path, content: bytes) -> None:
    # A name is given to the whole file only: half a page is never taken for one.
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
