"""
The URLs of requests are those that a plain join would make.
"""

from urllib.parse import urlencode

import pytest
from yarl import URL

from espalier.cluster.transport.urls import MAX_QUERIES, RequestUrls

PATHS = ("/api/v1/namespaces", "/apis/example.com/v1/namespaces/a%2Fb/widgets/caf%C3%A9%3F")
QUERIES: tuple[dict[str, str], ...] = (
    {},
    {"fieldManager": "espalier"},
    {"continue": "a+/=&b", "limit": "500"},
)


@pytest.mark.parametrize("server", ["https://[::1]:6443", "http://proxy.example.com/k8s/c%20d"])
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("query", QUERIES)
def test_a_url_has_the_path_and_the_query_as_they_are_given(
    server: str, path: str, query: dict[str, str]
) -> None:
    urls = RequestUrls(server)
    text = f"{server}{path}?{urlencode(query)}" if query else f"{server}{path}"
    expected = URL(text, encoded=True)
    for _ in range(2):
        found = urls.url_of(path, query)
        assert str(found) == str(expected)
        assert found.raw_path_qs == expected.raw_path_qs


def test_the_tokens_of_lists_are_not_remembered_for_ever() -> None:
    urls = RequestUrls("http://example.com")
    for number in range(10 * MAX_QUERIES):
        query = {"continue": str(number)}
        assert urls.url_of("/x", query).query == query
    assert urls.remembered <= MAX_QUERIES
