"""
Where the ``Authorization`` header comes from, and how it is renewed while the process runs.

Projected tokens rotate, and plugins' credentials expire: whoever sends a request asks the source
each time, and once more after a 401.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

from espalier.engine.ports.clock import Clock
from espalier.errors import ConfigurationError

TOKEN_FILE_SECONDS = 60.0
"""How long a token's file is trusted unread; the kubelet rotates a token well before it ends."""

_EXPIRY_MARGIN = timedelta(seconds=10)


class TokenSource(Protocol):
    """
    Gives the value of the ``Authorization`` header.
    """

    async def header(self) -> str | None:
        """
        Give the header's value; None to send none, as with client certificates.

        Raises:
            ConfigurationError: There is no credential to be had.
        """

    async def renewed(self, refused: str | None) -> str | None:
        """
        Give another value after the server refused one; None if there is no other.

        Raises:
            ConfigurationError: There is no credential to be had.
        """


@dataclass(frozen=True, slots=True)
class FixedSource:
    """
    Always the same header, or none.
    """

    value: str | None = field(repr=False)

    async def header(self) -> str | None:
        """
        Give the value.
        """
        return self.value

    async def renewed(self, refused: str | None) -> str | None:
        """
        Give the value, if another one was refused.
        """
        return None if refused == self.value else self.value


@dataclass(slots=True)
class FileSource:
    """
    A bearer token in a file that somebody else rotates.

    Attributes:
        path: The file; its last good content is kept if it cannot be read for a while.
    """

    path: Path
    clock: Clock
    _token: str = field(default="", repr=False)
    _read_at_seconds: float = 0.0

    async def header(self) -> str | None:
        """
        Give the token, read anew if the last reading is too long ago.
        """
        age_seconds = self.clock.monotonic_seconds() - self._read_at_seconds
        if not self._token or age_seconds >= TOKEN_FILE_SECONDS:
            await self._read()
        return f"Bearer {self._token}"

    async def renewed(self, refused: str | None) -> str | None:
        """
        Read the file anew.
        """
        await self._read()
        fresh = f"Bearer {self._token}"
        return None if fresh == refused else fresh

    async def _read(self) -> None:
        try:
            text = await asyncio.to_thread(self.path.read_text, encoding="ascii")
            token = text.strip()
        except (OSError, ValueError) as error:
            if not self._token:
                raise ConfigurationError(f"{self.path}: no token can be read: {error}") from error
            token = ""
        # A file that is empty or away for a moment must not cost a token that is still good.
        self._token = token or self._token
        if not self._token:
            raise ConfigurationError(f"{self.path}: the token's file is empty")
        self._read_at_seconds = self.clock.monotonic_seconds()


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """
    What a plugin hands out.

    Attributes:
        token: Empty if it gave a client certificate only.
        expires: None if it is good until refused.
    """

    token: str = field(default="", repr=False)
    certificate: str = field(default="", repr=False)
    key: str = field(default="", repr=False)
    expires: datetime | None = None


@dataclass(slots=True)
class PluginSource:
    """
    A credential that a program hands out, run anew when it expires or is refused.

    Attributes:
        run: Runs the program.
        install: Takes a client certificate into use; called for each new one.
    """

    run: Callable[[], Awaitable[Credential]]
    install: Callable[[Credential], None]
    clock: Clock
    _current: Credential | None = None
    _running: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def header(self) -> str | None:
        """
        Give the token, after a run of the program if the last one's is at its end.
        """
        async with self._running:
            if self._current is None or self._is_expired(self._current):
                self._current = await self._obtained()
            return _bearer(self._current)

    async def renewed(self, refused: str | None) -> str | None:
        """
        Run the program, unless somebody else has done so since the refused header was sent.
        """
        async with self._running:
            if self._current is None or _bearer(self._current) == refused:
                self._current = await self._obtained()
            fresh = _bearer(self._current)
            return None if fresh == refused else fresh

    async def _obtained(self) -> Credential:
        credential = await self.run()
        if credential.certificate:
            self.install(credential)
        return credential

    def _is_expired(self, credential: Credential) -> bool:
        if credential.expires is None:
            return False
        return read_time(self.clock.utc_timestamp()) + _EXPIRY_MARGIN >= credential.expires


def read_time(text: str) -> datetime:
    """
    Read an RFC 3339 time; one without a zone is in UTC.

    Raises:
        ValueError: It is none.
    """
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _bearer(credential: Credential) -> str | None:
    return f"Bearer {credential.token}" if credential.token else None
