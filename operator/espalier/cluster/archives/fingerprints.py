"""
Recognise entries that an archive already has, so that nothing is stored twice.

Without this, an object whose write is refused again and again, or whose pruning was interrupted,
would be archived at every attempt. Only the newest entry of an object counts: if it has the same
fields with the same values, nothing is stored, even if the object has another resource version.
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
"""The limit for all definitions together, about 15 MB. A forgotten entry is archived again."""

MAX_ENTRIES = 2000
"""The limit for one page: its fingerprints are in an annotation, of at most 256 KiB."""

MAX_AGE_SECONDS = 7 * 86_400.0
"""An older page may expire soon, so an entry in it is archived again."""

_SUBJECT_BYTES, _CONTENT_BYTES = 8, 16
_BYTES = _SUBJECT_BYTES + _CONTENT_BYTES

_Page = TypeVar("_Page")


class Fingerprint(NamedTuple):
    """
    The fingerprint of an entry.

    Attributes:
        subject: The digest of the object's uid. If two objects have the same digest, only one of
            them is remembered.
        content: The digest of uid and patch.
    """

    subject: bytes
    content: bytes


def fingerprint_of(entry: ArchiveEntry) -> Fingerprint:
    """
    Return the fingerprint of an entry.

    Raises:
        ValueError: The entry cannot be written as JSON.
    """
    uid = entry.uid.encode("utf-8", "surrogatepass")
    content = encode_json([*entry.patch])
    return Fingerprint(
        hashlib.sha256(uid).digest()[:_SUBJECT_BYTES],
        hashlib.sha256(b"%d:%b%b" % (len(uid), uid, content)).digest()[:_CONTENT_BYTES],
    )


def fingerprints_of(entries: Iterable[ArchiveEntry]) -> list[Fingerprint]:
    """
    Return the fingerprints of entries; for a whole page this may take some time.
    """
    return [fingerprint_of(entry) for entry in entries]


def text_of(fingerprints: Sequence[Fingerprint]) -> str:
    """
    Return the fingerprints of a page as the text of an annotation.
    """
    data = b"".join(one.subject + one.content for one in fingerprints)
    return base64.b64encode(data).decode()


def read_text(text: str) -> list[Fingerprint]:
    """
    Return the fingerprints in a text of ``text_of``; none if it is anything else.
    """
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return []
    pieces = [data[start : start + _BYTES] for start in range(0, len(data), _BYTES)]
    return [
        Fingerprint(piece[:_SUBJECT_BYTES], piece[_SUBJECT_BYTES:])
        for piece in pieces
        if len(piece) == _BYTES
    ]


def is_recent(created: str, now: str) -> bool:
    """
    Report whether a page is too young to expire soon; a page without a date is not.

    Args:
        created: The page's time as RFC 3339; any other text counts as no date.
        now: The present time as RFC 3339 in UTC.
    """
    try:
        age = datetime.fromisoformat(now) - datetime.fromisoformat(created)
    except (ValueError, TypeError):
        return False
    return age.total_seconds() <= MAX_AGE_SECONDS


class Kept(Generic[_Page]):
    """
    Remember the newest entry of each object, and its page.
    """

    def __init__(self, *, most: int = MAX_REMEMBERED) -> None:
        self._most = most
        self._newest: dict[bytes, tuple[bytes, _Page]] = {}

    def add(self, fingerprints: Iterable[Fingerprint], page: _Page) -> None:
        """
        Add the entries of a page that is newer than all pages before.
        """
        for subject, content in fingerprints:
            self._newest.pop(subject, None)
            self._newest[subject] = content, page
        excess = max(0, len(self._newest) - self._most)
        for subject in [*islice(self._newest, excess)]:
            del self._newest[subject]

    def page_with(self, fingerprint: Fingerprint) -> _Page | None:
        """
        Return the page whose entry is the newest of its object; None if there is none.
        """
        found = self._newest.get(fingerprint.subject)
        if found is None or found[0] != fingerprint.content:
            return None
        # The least recently used entries are forgotten first.
        self._newest[fingerprint.subject] = self._newest.pop(fingerprint.subject)
        return found[1]
