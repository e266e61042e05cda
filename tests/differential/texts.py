"""
Texts in and around the grammars of URLs, addresses, times and durations.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from tests.differential.dice import Dice

Make = Callable[[Dice], str]

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DIGITS = "0123456789"
_HEX = "0123456789abcdefABCDEF"
_MARKS = " !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
_CONTROLS = "\x00\x01\a\b\t\n\v\f\r\x1b\x1f\x7f"
# Two letters that lower case makes ASCII, both signs for micro, spaces, marks without width, the
# last of the basic plane, and characters of two, three and four bytes.
_UNICODE = (
    "\u0080\u0085\u00a0\u00ad\u00b5\u00df\u00e9\u0130\u017f\u03bc\u0661\u200b\u2028\u212a\u3000\u4e2d\ud7ff\ue000\ufeff"
    "\ufffd\uffff\U0001f600\U0010ffff"
)
_ESCAPES = (
    *("%20", "%25", "%2F", "%2f", "%3A", "%41", "%7F", "%00", "%0a", "%80", "%C3%A9", "%c3", "%ff"),
    *("%E2%82%AC", "%e2%82", "%5B", "%5d", "%40", "%2B", "%26", "%3d", "%3B", "%22", "%3c", "%2a"),
    *("%", "%2", "%g0", "%0g", "%%", "%é", "%a\u00e9", "%\u4e2d", "%1\U0001f600", "%zz"),
)
_CHARACTERS = (_LETTERS, _DIGITS, _MARKS, _MARKS, "%:/?#[]@.", "+-.,", _CONTROLS, _UNICODE)
_MOST_CHANGES = 3


def text(dice: Dice, op: str) -> str:
    """
    Make a text for the reader that an operation asks.
    """
    made = MAKERS[op](dice)
    if dice.seldom(2):
        for _ in range(1 + dice.count(_MOST_CHANGES - 1)):
            made = _changed(dice, made)
    return made


def _changed(dice: Dice, text: str) -> str:
    at = dice.count(len(text))
    until = min(len(text), at + dice.pick((0, 0, 1, 1, 2, 4)))
    put: Make = dice.pick((_character, _character, _escape, _nothing, lambda _: text[at:until] * 2))
    return text[:at] + put(dice) + text[until:]


def _character(dice: Dice) -> str:
    return dice.pick(dice.pick(_CHARACTERS))


def _escape(dice: Dice) -> str:
    return dice.pick(_ESCAPES)


def _nothing(_: Dice) -> str:
    return ""


def _some(dice: Dice, characters: Sequence[str], most: int) -> str:
    return "".join(dice.pick(characters) for _ in range(dice.count(most)))


def _url(dice: Dice) -> str:
    if dice.seldom(8):
        return _piece(dice) + _path(dice) + _query(dice) + _fragment(dice)
    scheme = dice.pick(("http", "https", "https", "HTTPS", "ftp", "db", "a+b.c-1", "x", "1a", ""))
    if dice.seldom(10):
        return f"{scheme}:{_piece(dice)}{_query(dice)}{_fragment(dice)}"
    colon = ":" if scheme or dice.seldom(2) else ""
    slashes = "//" if not dice.seldom(12) else dice.pick(("", "/", "///", "////"))
    authority = _user(dice) + _host(dice) + _port(dice)
    return scheme + colon + slashes + authority + _path(dice) + _query(dice) + _fragment(dice)


def _piece(dice: Dice) -> str:
    choose: tuple[Make, ...] = (
        lambda _: dice.pick(("a", "a.b", "x-y", "*", ".", "..", "a:b", "", "~", "a b")),
        lambda _: _some(dice, _LETTERS + _DIGITS, 6),
        lambda _: _some(dice, _MARKS + _UNICODE, 4),
        _escape,
        lambda _: _escape(dice) + _some(dice, _LETTERS, 2) + _escape(dice),
    )
    return dice.pick(choose)(dice)


def _user(dice: Dice) -> str:
    if not dice.seldom(4):
        return ""
    password = f":{_piece(dice)}" if dice.seldom(2) else ""
    return f"{_piece(dice)}{password}@"


def _host(dice: Dice) -> str:
    if dice.seldom(3):
        zone = f"%25{_piece(dice)}" if dice.seldom(3) else "%en0" if dice.seldom(12) else ""
        return f"[{_address(dice)}{zone}]"
    if dice.seldom(3):
        return _piece(dice)
    return dice.pick(("host", "example.com", "h.x", "10.0.0.1", "a,b", "a:1,b:2", "é.de", ""))


def _port(dice: Dice) -> str:
    if not dice.seldom(3):
        return ""
    return ":" + dice.pick(("", "80", "443", "0", "99999999999", "a", "1:2", "٣", "-1", "8a"))


def _path(dice: Dice) -> str:
    return "".join(f"/{_piece(dice)}" for _ in range(dice.count(3)))


def _query(dice: Dice) -> str:
    if not dice.seldom(3):
        return ""
    pairs = (
        dice.pick(("a=b", "a", "a=", "=b", "", "a=b=c", "a+b=%2B+", "a;b", "?", _piece(dice)))
        for _ in range(dice.count(3))
    )
    return "?" + dice.pick(("&", "&", "&", ";")).join(pairs)


def _fragment(dice: Dice) -> str:
    return "#" + _piece(dice) if dice.seldom(4) else ""


def _address(dice: Dice) -> str:
    if dice.seldom(3):
        return _ipv4(dice)
    groups = [_group(dice) for _ in range(dice.pick((8, 8, 7, 6, 3, 2, 1, 9)))]
    if dice.seldom(2):
        at = dice.count(len(groups))
        groups[at : at + dice.count(3)] = [""]
    if groups[0] == "" or dice.seldom(20):
        groups.insert(0, "")
    if groups[-1] == "":
        groups.append("")
    tail = f":{_ipv4(dice)}" if dice.seldom(5) else ""
    zone = dice.pick(("%eth0", "%", "%1%2", "%é")) if dice.seldom(10) else ""
    return ":".join(groups) + tail + zone


def _group(dice: Dice) -> str:
    if dice.seldom(12):
        return dice.pick(("0", "0000", "00001", "fffff", "10000", "g", "F"))
    return _some(dice, _HEX, 4) or "0"


def _ipv4(dice: Dice) -> str:
    octets = (str(dice.count(255)) for _ in range(dice.pick((4, 4, 4, 4, 4, 3, 5))))
    if dice.seldom(5):
        octets = (
            dice.pick(("0", "00", "01", "256", "255", "", "1", "9999999999")) for _ in range(4)
        )
    return ".".join(octets)


def _cidr(dice: Dice) -> str:
    odd = ("0", "24", "032", "128", "", "-1", "0000000128", "16777216")
    bits = str(dice.count(140)) if dice.seldom(2) else dice.pick(odd)
    return f"{_address(dice)}/{bits}"


def _mac(dice: Dice) -> str:
    width = dice.pick((2, 2, 4))
    groups = dice.pick((6, 8, 20, 3, 4, 10, 5))
    made = ("".join(dice.pick(_HEX) for _ in range(width)) for _ in range(groups))
    return dice.pick((":", "-", ".", "")).join(made)


_YEARS = ("0000", "0001", "1900", "1969", "1970", "2000", "2023", "2024", "2100", "9999", "10000")
_CLOCKS = (
    *("00:00:00", "23:59:59", "24:00:00", "12:60:00", "12:00:60", "1:02:03", "12:3:04", "12:34:5"),
    *("12:34", "99:99:99", "00:00:99"),
)
_ZONES = (
    *("Z", "z", "", "+00:00", "-00:00", "+01:00", "-07:30", "+23:59", "+24:00", "+24:60"),
    *("+25:00", "-00:61", "+99:99", "+0100", "+1:00", " Z", "25:00", "x25:00", "+25:x0", "+1x:00"),
    *("+00:6x", "+25:61", "+é1:00", "é25:00", "+01:0é", "UTC"),
)


def _date(dice: Dice) -> str:
    year = dice.pick(_YEARS) if dice.seldom(2) else f"{dice.count(9999):04d}"
    if dice.seldom(4):
        return f"{year}-02-{dice.pick(('28', '29', '29', '30'))}"
    if dice.seldom(6):
        month, day = dice.pick(("00", "13", "1", "99", "0x")), dice.pick(("00", "32", "1", "99"))
        return f"{year}-{month}-{day}"
    return f"{year}-{1 + dice.count(11):02d}-{dice.count(31):02d}"


def _time(dice: Dice) -> str:
    if dice.seldom(3):
        clock = dice.pick(_CLOCKS)
    else:
        clock = f"{dice.count(23):02d}:{dice.count(59):02d}:{dice.count(59):02d}"
    zone = "Z"
    if dice.seldom(2):
        zone = dice.pick(_ZONES)
    elif dice.seldom(2):
        zone = f"{dice.pick('+-')}{dice.count(25):02d}:{dice.count(62):02d}"
    mark = "T" if not dice.seldom(10) else dice.pick(("t", " ", "", "T0", "TT"))
    return _date(dice) + mark + clock + _second_fraction(dice) + zone


def _second_fraction(dice: Dice) -> str:
    if not dice.seldom(2):
        return ""
    digits = _some(dice, _DIGITS, 12) if dice.seldom(2) else dice.pick(("123", "123456", "0", ""))
    sign = dice.pick("+-") if dice.seldom(6) else ""
    return dice.pick((".", ".", ".", ",", ":", "..")) + sign + digits


_UNITS = ("ns", "us", "\u00b5s", "\u03bcs", "ms", "s", "m", "h")
_WORDS = (
    *("nanos", "nanoseconds", "micro", "\u00b5S", "milli", "millis", "sec", "seconds", "minutes"),
    *("min", "hour", "hr", "hrs", "d", "day", "days", "w", "wk", "weeks", "NS", "H", "Days", "mi"),
    *("\u00b5", "x", "se", "\u212a", "mon", "year"),
)
# Around the limits of 64 bits, in nanoseconds and in larger units.
_LIMITS = (
    *("9223372036854775807", "9223372036854775808", "9223372036854775809", "9223372036854775810"),
    *("9223372036854775", "9223372036854776", "9223372036", "9223372037", "153722867", "153722868"),
    *("2562047", "2562048", "106751", "106752", "15250", "15251", "18446744073709551616"),
    *("0000000000000000000000001", "99999999999999999999999", "92233720368547758070", "0", "00"),
)


def _amount(dice: Dice) -> str:
    whole = dice.pick(_LIMITS) if dice.seldom(4) else _some(dice, _DIGITS, dice.pick((2, 4, 20)))
    if not dice.seldom(3):
        return whole
    fraction = dice.pick(
        ("", "5", "0", "999999999999999999999", "9223372036854775807", "922337203685477581")
    )
    return f"{whole}.{fraction if dice.seldom(2) else _some(dice, _DIGITS, 25)}"


def _go_duration(dice: Dice) -> str:
    parts = (_amount(dice) + dice.pick(_UNITS) for _ in range(1 + dice.count(2)))
    sign = dice.pick(("", "", "", "-", "+", "--"))
    if dice.seldom(20):
        return sign + dice.pick(("0", "", "00", "0.0", "9223372036854775808ns" * 2, "."))
    return sign + "".join(parts)


def _worded_duration(dice: Dice) -> str:
    if dice.seldom(3):
        return _go_duration(dice)
    spaces = ("", " ", "  ", "\t", "\n", "\u00a0", "\v")
    parts = (
        _amount(dice) + dice.pick(spaces) + dice.pick(dice.pick((_UNITS, _WORDS)))
        for _ in range(1 + dice.count(2))
    )
    return dice.pick((" ", "", ", ", "-", "x")).join(parts)


MAKERS: Mapping[str, Make] = MappingProxyType(
    {
        "url.Parse": _url,
        "url.ParseRequestURI": _url,
        "netip.ParseAddr": _address,
        "time.Parse": _time,
        "time.Parse-date": _date,
        "time.Parse-local": _time,
        "time.ParseDuration": _go_duration,
        "strfmt.ParseDuration": _worded_duration,
        "strfmt.ParseDateTime": _time,
        "format-uri": _url,
        "format-date": _date,
        "format-datetime": _time,
        "format-duration": _worded_duration,
        "format-ipv4": _address,
        "format-ipv6": _address,
        "format-cidr": _cidr,
        "format-mac": _mac,
    }
)
"""By the name of the operation."""
