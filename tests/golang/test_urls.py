import pytest

from espalier.golang.urls import Url, UrlError, parse_request_uri, parse_url


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://host/path", Url("https", None, "host")),
        ("HTTPS://Host:443?a=b?c", Url("https", None, "Host:443", "a=b?c")),
        ("https://us:w@h#f%20g", Url("https", "us:w", "h", "", "f g")),
        ("https://a@b@c", Url("https", "a%40b", "c")),
        ("https://a%2f!@c", Url("https", "a%2F%21", "c")),
        ("https://@c", Url("https", "", "c")),
        ("mailto:x y%zz", Url("mailto")),
        ("//host/p", Url("", None, "host")),
        ("///host/p", Url()),
        ("https:///p", Url("https")),
        ("*", Url()),
        ("", Url()),
        ("a/b:c", Url()),
        ("1a/b", Url()),
        ("https://[::1]:80/", Url("https", None, "[::1]:80")),
        ("https://[fe80::1%25en0]/", Url("https", None, "[fe80::1%en0]")),
        ("db://a:1,b:2/", Url("db", None, "a:1,b:2")),
        ("https://ex%C3%A4mple/", Url("https", None, "exämple")),
    ],
)
def test_a_url_has_parts(text: str, expected: Url) -> None:
    assert parse_url(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("://", 'parse "://": missing protocol scheme'),
        ("1a:b", 'parse "1a:b": first path segment in URL cannot contain colon'),
        ("https://a b/", 'parse "https://a b/": invalid character " " in host name'),
        ("https://a%41/", 'parse "https://a%41/": invalid URL escape "%41"'),
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
def test_what_is_no_url_is_refused_in_gos_words(text: str, expected: str) -> None:
    with pytest.raises(UrlError) as caught:
        parse_url(text)

    assert str(caught.value) == expected


def test_a_request_has_an_absolute_url_or_path() -> None:
    assert parse_request_uri("https://host/a#b").host == "host"
    assert parse_request_uri("/a") == Url()
    assert parse_request_uri("//host/a") == Url()
    for text, expected in (
        ("", 'parse "": empty url'),
        ("a/b", 'parse "a/b": invalid URI for request'),
    ):
        with pytest.raises(UrlError) as caught:
            parse_request_uri(text)
        assert str(caught.value) == expected
