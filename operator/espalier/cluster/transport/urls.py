"""
The URLs of requests. One is made for each write, so what they have in common is made once.
"""

from collections.abc import Mapping
from urllib.parse import urlencode

from yarl import URL

MAX_QUERIES = 64
"""So many queries are remembered; those of lists have a token, and never come again."""


class RequestUrls:
    """
    Makes the URLs of one server.

    Args:
        server: The base URL without a trailing slash; it may have a path.
    """

    def __init__(self, server: str) -> None:
        self._base = URL(f"{server}/", encoded=True)
        self._prefix = self._base.raw_path.rstrip("/")
        self._with_query: dict[tuple[tuple[str, str], ...], URL] = {}

    @property
    def remembered(self) -> int:
        """
        How many queries are remembered.
        """
        return len(self._with_query)

    def url_of(self, path: str, query: Mapping[str, str]) -> URL:
        """
        Return the URL of a request.

        Args:
            path: Absolute and quoted, below the base URL.
            query: Not quoted.
        """
        base = self._base if not query else self._base_with(query)
        return base.with_path(self._prefix + path, encoded=True, keep_query=True)

    def _base_with(self, query: Mapping[str, str]) -> URL:
        key = tuple(query.items())
        found = self._with_query.get(key)
        if found is None:
            found = URL(f"{self._base}?{urlencode(query)}", encoded=True)
            if len(self._with_query) < MAX_QUERIES:
                self._with_query[key] = found
        return found
