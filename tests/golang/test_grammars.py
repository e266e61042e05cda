"""
Readers hold to their grammars whatever the text.
"""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from espalier.golang.addresses import is_uri
from espalier.golang.durations import DurationError, parse_duration, parse_worded_duration
from espalier.golang.rfc3339 import (
    DATE,
    TimeError,
    calendar_of,
    canonical_time,
    parse_date_time,
    parse_time,
)
from espalier.golang.strfmt import FORMATS
from espalier.golang.urls import UrlError, escaped_path, parse_request_uri, parse_url, write_url
from tests.differential import texts
from tests.differential.dice import Dice

thorough = settings(max_examples=300, deadline=None, derandomize=True)
characters = st.text(st.sampled_from('aA0:/?#[]@%.-~ é\x7f"<+&=*'), max_size=12)


@st.composite
def near(draw: st.DrawFn, op: str) -> str:
    """
    A text near the grammar that an operation of the comparison reads.
    """
    random: Random = draw(st.randoms(use_true_random=False))
    return texts.text(Dice(random), op)


@thorough
@given(near("url.ParseRequestURI") | characters)
def test_the_quick_check_of_uris_agrees_with_the_reader(text: str) -> None:
    try:
        parse_request_uri(text)
        is_read = True
    except UrlError:
        is_read = False

    assert is_uri(text) is is_read


@thorough
@given(near("time.Parse-date") | st.dates().map(str))
def test_the_quick_check_of_dates_agrees_with_the_reader(text: str) -> None:
    try:
        parse_time(text, DATE)
        is_read = True
    except TimeError:
        is_read = False

    assert FORMATS["date"](text) is is_read


@thorough
@given(near("url.Parse") | characters)
def test_a_url_that_was_written_is_read_and_written_alike(text: str) -> None:
    try:
        url = parse_url(text)
    except UrlError:
        return

    again = parse_url(write_url(url))

    assert write_url(again) == write_url(url)
    assert (again.scheme, again.host, again.user) == (url.scheme, url.host, url.user)
    assert escaped_path(again).removeprefix("./") == escaped_path(url).removeprefix("./")


@thorough
@given(near("time.Parse") | st.datetimes().map(lambda moment: f"{moment.isoformat()}Z"))
def test_a_time_in_utc_is_the_same_time(text: str) -> None:
    try:
        canonical = canonical_time(text)
    except TimeError:
        return

    assert parse_time(canonical).seconds == parse_time(text).seconds
    assert canonical_time(canonical) == canonical


@thorough
@given(st.integers(-62_167_219_200, 253_402_300_799))
def test_every_second_of_gos_calendar_has_a_date(seconds: int) -> None:
    year, moment = calendar_of(seconds)

    assert parse_time(f"{year:04d}-{moment:%m-%dT%H:%M:%SZ}").seconds == seconds


@thorough
@given(near("time.ParseDuration") | near("strfmt.ParseDuration"))
def test_a_duration_of_go_is_one_of_the_format(text: str) -> None:
    try:
        nanoseconds = parse_duration(text)
    except DurationError:
        return

    assert parse_worded_duration(text) == nanoseconds
    assert -(1 << 63) <= nanoseconds < 1 << 63


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("-1.5h", -5_400_000_000_000),
        (".5\u00b5s1ns", 501),
        ("1.\u03bcs", 1_000),
        ("-9223372036854775808ns", -(1 << 63)),
    ],
)
def test_a_duration_has_nanoseconds(text: str, nanoseconds: int) -> None:
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 'time: invalid duration ""'),
        ("1", 'time: missing unit in duration "1"'),
        ("1d", 'time: unknown unit "d" in duration "1d"'),
        ("1é", 'time: unknown unit "\\xc3\\xa9" in duration "1\\xc3\\xa9"'),
        ("9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"'),
        ("9" * 5000 + "s", f'time: invalid duration "{"9" * 5000}s"'),
    ],
)
def test_what_is_no_duration_is_refused_as_go_does(text: str, expected: str) -> None:
    with pytest.raises(DurationError) as caught:
        parse_duration(text)

    assert str(caught.value) == expected


def test_a_duration_of_the_format_may_have_words() -> None:
    assert parse_worded_duration("about 2 days, 1 hr") == 176_400_000_000_000
    with pytest.raises(DurationError) as caught:
        parse_worded_duration("two days")
    assert str(caught.value) == "unable to parse two days as duration"


def test_a_date_is_midnight_in_utc() -> None:
    assert parse_time("0000-02-29", DATE).seconds == -62_162_121_600
    assert parse_time("1970-01-02", DATE).seconds == 86_400
    with pytest.raises(TimeError) as caught:
        parse_time("2023-02-29", DATE)
    assert str(caught.value) == 'parsing time "2023-02-29": day out of range'


def test_a_date_time_may_lack_its_zone_or_be_empty() -> None:
    assert parse_date_time("") == (0, 0, 0)
    assert parse_date_time("1970-01-01T00:00:01,5") == (1, 500_000_000, 0)
    assert parse_date_time("1970-01-01T01:00:00+01:00") == (0, 0, 3600)
    with pytest.raises(TimeError) as caught:
        parse_date_time("1970-01-01T00:00:00+0100")
    expected = 'parsing time "1970-01-01T00:00:00+0100": extra text: "+0100"'
    assert str(caught.value) == expected
