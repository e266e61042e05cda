"""
Sources of the ``Authorization`` header, which renew it while the process runs.

Projected tokens rotate, and the credentials of plugins expire. So the source is asked for each
request, and once more after a response with status 401.
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
"""How long a token is used before its file is read again; the kubelet rotates it early enough."""

_EXPIRY_MARGIN = timedelta(seconds=10)


class TokenSource(Protocol):
    """
    A source of the ``Authorization`` header.
    """

    async def header(self) -> str | None:
        """
        Return the value of the header; None to send none, as with client certificates.

        Raises:
            ConfigurationError: No credential can be obtained.
        """

    async def renewed(self, refused: str | None) -> str | None:
        """
        Return a new value after the server refused one; None if there is no other.

        Raises:
            ConfigurationError: No credential can be obtained.
        """


@dataclass(frozen=True, slots=True)
class FixedSource:
    """
    A header that never changes, or none.
    """

    value: str | None = field(repr=False)

    async def header(self) -> str | None:
        """
        Return the value.
        """
        return self.value

    async def renewed(self, refused: str | None) -> str | None:
        """
        Return the value if another one was refused, else None.
        """
        return None if refused == self.value else self.value


@dataclass(slots=True)
class FileSource:
    """
    A bearer token in a file that another program rotates.

    Attributes:
        path: The file; the last token is kept while the file cannot be read.
    """

    path: Path
    clock: Clock
    _token: str = field(default="", repr=False)
    _read_at_seconds: float = 0.0

    async def header(self) -> str | None:
        """
        Return the token; read the file again if the last reading is too old.
        """
        age_seconds = self.clock.monotonic_seconds() - self._read_at_seconds
        if not self._token or age_seconds >= TOKEN_FILE_SECONDS:
            await self._read()
        return f"Bearer {self._token}"

    async def renewed(self, refused: str | None) -> str | None:
        """
        Read the file again, and return the token if it is another one.
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
        # While the file is empty or missing for a moment, the last token is still good.
        self._token = token or self._token
        if not self._token:
            raise ConfigurationError(f"{self.path}: the token's file is empty")
        self._read_at_seconds = self.clock.monotonic_seconds()


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """
    The credential that a plugin returns.

    Attributes:
        token: The bearer token; empty if there is only a client certificate.
        expires: When it expires; None if it is valid until the server refuses it.
    """

    token: str = field(default="", repr=False)
    certificate: str = field(default="", repr=False)
    key: str = field(default="", repr=False)
    expires: datetime | None = None


@dataclass(slots=True)
class PluginSource:
    """
    A credential from a program, which is run again when the credential expires or is refused.

    Attributes:
        run: Runs the program.
        install: Called with each new client certificate, to put it into use.
    """

    run: Callable[[], Awaitable[Credential]]
    install: Callable[[Credential], None]
    clock: Clock
    _current: Credential | None = None
    _running: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def header(self) -> str | None:
        """
        Return the token; run the program first if there is none or it has expired.
        """
        async with self._running:
            if self._current is None or self._is_expired(self._current):
                self._current = await self._obtained()
            return _bearer(self._current)

    async def renewed(self, refused: str | None) -> str | None:
        """
        Run the program, unless another request has renewed the credential since.
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
    Read an RFC 3339 time; without a zone it is in UTC.

    Raises:
        ValueError: The text is not an RFC 3339 time.
    """
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _bearer(credential: Credential) -> str | None:
    return f"Bearer {credential.token}" if credential.token else None
