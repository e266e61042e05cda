"""
Long lists of results, which wait in a temporary file until they are printed.
"""

import weakref
from collections.abc import Callable, Collection, Iterator
from typing import IO, Generic, TypeVar

Kept = TypeVar("Kept")
Made = TypeVar("Made")

_ENTRIES_IN_MEMORY = 1000


class Spool(Collection[Kept], Generic[Kept]):
    """
    A list that is only appended to, and read from its start to its end.

    No more than a part of it is in memory at a time.
    """

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._last: list[Kept] = []
        self._length = 0

    def append(self, entry: Kept) -> None:
        """
        Add an entry.
        """
        self._last.append(entry)
        self._length += 1
        if len(self._last) >= _ENTRIES_IN_MEMORY:
            self._store()

    def __len__(self) -> int:
        return self._length

    def __contains__(self, entry: object) -> bool:
        return any(one == entry for one in self)

    def __iter__(self) -> Iterator[Kept]:
        if self._file is not None:
            yield from self._stored(self._file)
        yield from self._last

    def _store(self) -> None:
        # Most lists are short, and these modules take others with them.
        import pickle
        import tempfile

        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the list
            weakref.finalize(self, self._file.close)
        self._file.seek(0, 2)
        pickle.dump(self._last, self._file, pickle.HIGHEST_PROTOCOL)
        self._last = []

    def _stored(self, file: IO[bytes]) -> Iterator[Kept]:
        import pickle

        position, end = 0, file.seek(0, 2)
        while position < end:
            # Several readers may take turns, so each knows its own position.
            file.seek(position)
            part: list[Kept] = pickle.load(file)  # noqa: S301 - written by this process
            position = file.tell()
            yield from part


class SpoolView(Collection[Made], Generic[Kept, Made]):
    """
    What a function makes of the entries of a list, each time that it is read.
    """

    def __init__(
        self, entries: Collection[Kept], made: Callable[[Kept], Collection[Made]], length: int
    ) -> None:
        self._entries = entries
        self._made = made
        self._length = length

    def __len__(self) -> int:
        return self._length

    def __contains__(self, entry: object) -> bool:
        return any(one == entry for one in self)

    def __iter__(self) -> Iterator[Made]:
        for entry in self._entries:
            yield from self._made(entry)
