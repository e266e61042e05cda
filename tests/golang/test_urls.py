from typing import Any

import pytest

from espalier.golang.urls import Url, UrlError, parse_request_uri, parse_url


def of(scheme: str = "", **parts: Any) -> Url:
    return Url(scheme, has_authority=True, **parts)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://host/path", of("https", host="host", raw_path="/path")),
        ("HTTPS://Host:443?a=b?c", of("https", host="Host:443", query="a=b?c")),
        ("https://us:w@h#f%20g", of("https", user="us:w", host="h", raw_fragment="f%20g")),
        ("https://a@b@c", of("https", user="a%40b", host="c")),
        ("https://a%2f!@c", of("https", user="a%2F%21", host="c")),
        ("https://@c", of("https", user="", host="c")),
        ("mailto:x y%zz", Url("mailto", opaque="x y%zz")),
        ("//host/p", of(host="host", raw_path="/p")),
        ("///host/p", Url(raw_path="///host/p")),
        ("https:///p", of("https", raw_path="/p")),
        ("https:/p?", Url("https", raw_path="/p", has_empty_query=True)),
        ("*", Url(raw_path="*")),
        ("", Url()),
        ("a/b:c", Url(raw_path="a/b:c")),
        ("1a/b", Url(raw_path="1a/b")),
        ("https://[::1]:80/", of("https", host="[::1]:80", raw_path="/")),
        ("https://[fe80::1%25en0]/", of("https", host="[fe80::1%en0]", raw_path="/")),
        ("db://a:1,b:2/", of("db", host="a:1,b:2", raw_path="/")),
        ("https://ex%C3%A4mple/", of("https", host="exämple", raw_path="/")),
        ("https://%ff", of("https", host="\udcff")),
    ],
)
def test_a_url_has_parts(text: str, expected: Url) -> None:
    assert parse_url(text) == expected


def test_the_fragment_is_unescaped() -> None:
    assert parse_url("https://us:w@h#f%20g").fragment == "f g"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("://", 'parse "://": missing protocol scheme'),
        ("1a:b", 'parse "1a:b": first path segment in URL cannot contain colon'),
        ("https://a b/", 'parse "https://a b/": invalid character " " in host name'),
        ("https://a%41/", 'parse "https://a%41/": invalid URL escape "%41"'),
        ("https://a/%é", 'parse "https://a/%é": invalid URL escape "%é"'),
        ("https://a/%aé", 'parse "https://a/%aé": invalid URL escape "%a\\xc3"'),
        ("https://[::1%25%80]", 'parse "https://[::1%25%80]": invalid URL escape "%80"'),
        (
            "https://[%ff]",
            'parse "https://[%ff]": invalid host: ParseAddr("\\xff"): unable to parse IP',
        ),
        ("https://a/%", 'parse "https://a/%": invalid URL escape "%"'),
        ("https://a/#%zz", 'parse "https://a/#%zz": invalid URL escape "%zz"'),
        ("https://a:b", 'parse "https://a:b": invalid port ":b" after host'),
        ("https://a:1:2", 'parse "https://a:1:2": invalid port ":1:2" after host'),
        ("db://a:1:b", 'parse "db://a:1:b": invalid port ":b" after host'),
        ("https://a[", 'parse "https://a[": invalid IP-literal'),
        ("https://[::1", "parse \"https://[::1\": missing ']' in host"),
        ("https://[1.2.3.4]", 'parse "https://[1.2.3.4]": invalid IP-literal'),
        ("https://[::1]a", 'parse "https://[::1]a": invalid port "a" after host'),
        (
            "https://[x]",
            'parse "https://[x]": invalid host: ParseAddr("x"): unable to parse IP',
        ),
        ("https://[::1%25a%00]", 'parse "https://[::1%25a%00]": invalid URL escape "%00"'),
        (
            "https://[::1%25a\\]",
            'parse "https://[::1%25a\\\\]": invalid character "\\\\" in host name',
        ),
        ("https://a b@c", 'parse "https://a b@c": net/url: invalid userinfo'),
        ("https://a%zz@c", 'parse "https://a%zz@c": invalid URL escape "%zz"'),
        ("a\nb", 'parse "a\\nb": net/url: invalid control character in URL'),
    ],
)
def test_what_is_no_url_is_refused_with_gos_message(text: str, expected: str) -> None:
    with pytest.raises(UrlError) as caught:
        parse_url(text)

    assert str(caught.value) == expected


def test_a_request_has_an_absolute_url_or_path() -> None:
    assert parse_request_uri("https://host/a#b").host == "host"
    assert parse_request_uri("/a") == Url(raw_path="/a")
    assert parse_request_uri("//host/a") == Url(raw_path="//host/a")
    for text, expected in (
        ("", 'parse "": empty url'),
        ("a/b", 'parse "a/b": invalid URI for request'),
    ):
        with pytest.raises(UrlError) as caught:
            parse_request_uri(text)
        assert str(caught.value) == expected
