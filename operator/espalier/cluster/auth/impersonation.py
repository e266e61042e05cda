"""
Act as another user: the headers of impersonation.

Source:
    client-go, ``transport/round_trippers.go``, ``NewImpersonatingRoundTripper``; kubernetes.io,
    "User impersonation".
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from urllib.parse import quote

from espalier.errors import ConfigurationError

_NOTHING: Mapping[str, Sequence[str]] = MappingProxyType({})
_TOKEN_CHARACTERS = "!#$&'*+-.^_`|~"  # noqa: S105 - of a header's name, RFC 9110
_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Impersonation:
    """
    The user that requests act as, as far as it is given; empty for oneself.

    Attributes:
        extra: The other facts about the user, by key.
    """

    user: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, Sequence[str]] = field(default_factory=lambda: _NOTHING, hash=False)

    def overridden_by(self, other: "Impersonation") -> "Impersonation":
        """
        Return the impersonation with what another one gives in place of it.
        """
        return Impersonation(
            user=other.user or self.user,
            uid=other.uid or self.uid,
            groups=other.groups or self.groups,
            extra=other.extra or self.extra,
        )

    def headers(self) -> tuple[tuple[str, str], ...]:
        """
        Return names and values of the headers; a name may come several times.

        Raises:
            ConfigurationError: There is a UID or a group but no user, or a value is no header's.
        """
        headers = tuple(self._headers())
        if headers and not self.user:
            raise ConfigurationError(
                "a UID or groups to act as are given, but no user; name one by --as"
            )
        for _, value in headers:
            if _CONTROL.search(value):
                raise ConfigurationError(
                    f"cannot act as {value!r}: it has a line break or another control character"
                )
        return headers

    def _headers(self) -> Iterator[tuple[str, str]]:
        if self.user:
            yield "Impersonate-User", self.user
        if self.uid:
            yield "Impersonate-Uid", self.uid
        for group in self.groups:
            yield "Impersonate-Group", group
        for key, values in self.extra.items():
            name = f"Impersonate-Extra-{quote(key, safe=_TOKEN_CHARACTERS)}"
            for value in values:
                yield name, value


ONESELF = Impersonation()
"""Nobody else is acted as."""
