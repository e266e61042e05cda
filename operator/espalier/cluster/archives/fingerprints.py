"""
What an archive has already, so that nothing is kept twice.

An object whose write is refused again and again, or whose pruning was interrupted, is to be
archived at every attempt. Only the newest entry of an object counts: where the same fields with
the same values are removed once more, it holds them already, whatever resource version the object
has by now.
"""

import base64
import binascii
import hashlib
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import islice
from typing import Generic, NamedTuple, TypeVar

from espalier.cluster.transport.json_codec import encode_json
from espalier.engine.ports.archive import ArchiveEntry

MAX_REMEMBERED = 65_536
"""Of all definitions together, some 15 MB. What was forgotten is archived once more."""

MAX_ENTRIES = 2000
"""Of one page: an annotation tells them, of which the server takes 256 KiB, and lists many."""

MAX_AGE_SECONDS = 7 * 86_400.0
"""A page that is older may soon be old enough to expire: nothing new is entrusted to it."""

_SUBJECT_BYTES, _CONTENT_BYTES = 8, 16
_BYTES = _SUBJECT_BYTES + _CONTENT_BYTES

_Page = TypeVar("_Page")


class Fingerprint(NamedTuple):
    """
    Stands for an entry.

    Attributes:
        subject: Of the object's uid. Two that have the same one only forget each other.
        content: Of uid and patch.
    """

    subject: bytes
    content: bytes


def fingerprint_of(entry: ArchiveEntry) -> Fingerprint:
    """
    Digest an entry.

    Raises:
        ValueError: It cannot be written as JSON.
    """
    uid = entry.uid.encode("utf-8", "surrogatepass")
    content = encode_json([*entry.patch])
    return Fingerprint(
        hashlib.sha256(uid).digest()[:_SUBJECT_BYTES],
        hashlib.sha256(b"%d:%b%b" % (len(uid), uid, content)).digest()[:_CONTENT_BYTES],
    )


def fingerprints_of(entries: Iterable[ArchiveEntry]) -> list[Fingerprint]:
    """
    Digest entries; those of a whole page may take a while.
    """
    return [fingerprint_of(entry) for entry in entries]


def text_of(fingerprints: Sequence[Fingerprint]) -> str:
    """
    Write the fingerprints of a page as an annotation holds them.
    """
    told = b"".join(one.subject + one.content for one in fingerprints)
    return base64.b64encode(told).decode()


def read_text(text: str) -> list[Fingerprint]:
    """
    Read what ``text_of`` wrote; nothing of what is anything else.
    """
    try:
        told = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return []
    pieces = [told[start : start + _BYTES] for start in range(0, len(told), _BYTES)]
    return [
        Fingerprint(piece[:_SUBJECT_BYTES], piece[_SUBJECT_BYTES:])
        for piece in pieces
        if len(piece) == _BYTES
    ]


def is_recent(created: str, now: str) -> bool:
    """
    Tell whether a page is young enough to be relied upon; one without a date is not.

    Args:
        created: RFC 3339; may be anything.
        now: RFC 3339 in UTC.
    """
    try:
        age = datetime.fromisoformat(now) - datetime.fromisoformat(created)
    except (ValueError, TypeError):
        return False
    return age.total_seconds() <= MAX_AGE_SECONDS


class Kept(Generic[_Page]):
    """
    Remembers the newest entry of objects, and in which page it is.
    """

    def __init__(self, *, most: int = MAX_REMEMBERED) -> None:
        self._most = most
        self._newest: dict[bytes, tuple[bytes, _Page]] = {}

    def add(self, fingerprints: Iterable[Fingerprint], page: _Page) -> None:
        """
        Take note of a page that is newer than those before.
        """
        for subject, content in fingerprints:
            self._newest.pop(subject, None)
            self._newest[subject] = content, page
        excess = max(0, len(self._newest) - self._most)
        for subject in [*islice(self._newest, excess)]:
            del self._newest[subject]

    def page_with(self, fingerprint: Fingerprint) -> _Page | None:
        """
        Find the page that has an entry as the newest one of its object.
        """
        found = self._newest.get(fingerprint.subject)
        if found is None or found[0] != fingerprint.content:
            return None
        # What is asked for is remembered longest.
        self._newest[fingerprint.subject] = self._newest.pop(fingerprint.subject)
        return found[1]
