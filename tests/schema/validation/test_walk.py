"""
Values are judged as the API server judges them.
"""

from pathlib import Path

import pytest

from espalier import crd, schema
from espalier.cli.input.files import read_documents
from espalier.findings import ErrorType
from espalier.golang.strfmt import FORMATS
from espalier.paths import JSON
from espalier.schema import Profile
from espalier.schema.validation.formats import format_of
from espalier.schema.validation.walk import render_validation
from espalier.schema.values import copy_json, equal_json

CASES = Path(__file__).parents[2] / "data" / "cases"
NEED_MORE = {
    "48-cel-rules": "rules",
    "50-metadata-and-typemeta": "the metadata of the object itself",
}
"""Cases with errors that are not about values, by what they are about."""

OLDER = "45-draft4-keywords/object-inside.yaml"
"""Seen on a server before 1.37, which forgives a quotient for being slightly below an integer."""


def found(value: JSON, raw: JSON, profile: Profile = Profile.APISERVER) -> list[str]:
    structural = schema.parse(raw, profile=profile)
    before = copy_json(value)
    findings = schema.validate(value, structural, profile=profile)
    assert equal_json(value, before)
    return [render_validation(finding, profile=profile) for finding in findings]


def foo(raw: dict[str, JSON]) -> JSON:
    return {"type": "object", "properties": {"foo": raw}}


def only(path: Path) -> dict[str, JSON]:
    (document,) = read_documents(str(path))
    assert isinstance(document.value, dict)
    return document.value


def seen() -> list[tuple[str, str, dict[str, JSON]]]:
    listed = []
    for case in sorted(CASES.iterdir()):
        objects = only(case / "expect.yaml").get("objects") or {}
        assert isinstance(objects, dict)
        for name, expected in objects.items():
            assert isinstance(expected, dict)
            named = f"{case.name}/{name}"
            if case.name not in NEED_MORE and named != OLDER and "errors" in expected:
                listed.append((case.name, name, expected))
    return listed


SEEN = seen()


def test_there_are_cases_with_errors() -> None:
    assert sum(bool(expected["errors"]) for _, _, expected in SEEN) > 20


@pytest.mark.parametrize(("case", "name", "expected"), SEEN, ids=lambda told: str(told)[:40])
def test_an_object_is_judged_as_the_server_does(
    case: str, name: str, expected: dict[str, JSON]
) -> None:
    definition = crd.read_definition(only(CASES / case / "crd.yaml"))
    obj = only(CASES / case / name)
    named = str(obj["apiVersion"]).rpartition("/")[2]
    schemas = {version.name: crd.structural_of(version) for version in definition.versions}
    decoded = schema.normalize(
        obj,
        schemas.get(named),
        profile=Profile.APISERVER,
        preserve_unknown_fields=definition.preserve_unknown_fields,
    )

    findings = schema.validate(decoded.value, schemas.get(named), profile=Profile.APISERVER)

    errors = expected.get("errorsInNewerReference", expected["errors"])
    assert isinstance(errors, list)
    messages = [error["message"] for error in errors if isinstance(error, dict)]
    assert sorted(map(str, findings)) == sorted(map(str, messages))


GOOD_AND_BAD: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "bsonobjectid": (("507f1f77bcf86cd799439011",), ("", "507f1f77bcf86cd79943901g")),
    "uri": (
        ("http://a.b/c?d#e", "/abs", "mailto:a@b", "*", "http://[::1%25en0]:80/", "x:a b"),
        ("", "rel", ":a", "/%2", "http://h:8a/", "http://[1.2.3.4]/", "http://a:1,b:2", "/\n"),
    ),
    "email": (
        (
            *("a@b", "A B <a@b.c>", '"q w"@x.y', "a@[1.2.3.4]", "a@b (c (d))", "g: a@b;"),
            *("=?utf-8?q?a?= <a@b>", "=?x?b?YQ?= <a@b>", "a =?x?q?b?= <a@b>", "a (c) <a@b>"),
            *("a@b (=?ISO-8859-1?B?YQ==?=)", "a@b (\\=?x?q?a?=c)", "=?x?q?a?=@b"),
        ),
        (
            *("", "a", "a..b@c", "a@[x]", "a@b (c", "g: a@b, c@d;", "g:;", "<a@b", '""@b'),
            *("a@b,c@d", "=?x?q?a?= <a@b>", "a =?x?q?b?= c <a@b>", "a@b (c =?x?b?YQ==?=)"),
            *("=?utf-8?q?a?= (c) <a@b>", "=?utf-8?q??= <a@b>"),
        ),
    ),
    "hostname": (
        ("a", "a.bc", "1a", "m\u00fcnchen.de", "a-b.cd", "a" * 63),
        ("", "-a", "a_b", "x.1", "a" * 64, "a." * 127 + "com"),
    ),
    "ipv4": (("1.2.3.4", "01.02.03.004", "::ffff:1.2.3.4"), ("1.2.3", "256.1.1.1", "::1")),
    "ipv6": (("::1", "1:2:3:4:5:6:7::"), ("1.2.3.4", "fe80::1%eth0", "1:2:3:4:5:6:7:8:9")),
    "cidr": (("010.0.0.0/08", "::/0"), ("1.2.3.4", "1.2.3.4/33", "::1/129", "1.2.3.4/")),
    "mac": (("00:00:5e:00:53:01", "0000.5e00.5301"), ("00:00-5e:00:53:01", "00:00:5e")),
    "uuid": (("123E4567E89B12D3A456426614174000",), ("123e4567",)),
    "uuid3": (("123e4567-e89b-32d3-a456-426614174000",), ("123e4567-e89b-42d3-a456-426614174000",)),
    "uuid4": (("123e4567-e89b-42d3-a456-426614174000",), ("123e4567-e89b-42d3-c456-426614174000",)),
    "uuid5": (("123e4567-e89b-52d3-a456-426614174000",), ("123e4567-e89b-52d3-c456-426614174000",)),
    "isbn": (("0321751043", "978-0321751041"), ("0321751044", "")),
    "isbn10": (("3 401 01319 X",), ("978-0321751041",)),
    "isbn13": (("978-0321751041",), ("0321751043", "978-0321751042")),
    "creditcard": (("4220-8554-2622-2389",), ("4220855426213389", "1")),
    "ssn": (("111-11-1111",), ("111111111", "111-11-111a")),
    "hexcolor": (("#FFF", "abcdef"), ("#ffff", "")),
    "rgbcolor": (("rgb( 1 , 22,255 )",), ("rgb(256,1,1)", "rgb(01,1,1)")),
    "byte": (("YQ==", "YWJj"), ("", "YWJ", "Y-==")),
    "password": (("", "x"), ()),
    "date": (
        ("2020-02-29", "0000-02-29"),
        ("2021-02-29", "2020-1-1", "2020-13-01", "2020-01-01\n"),
    ),
    "duration": (
        ("1h2m", "-1.5h", "1.h", "0", "5 weeks foo", "3 wk", "2 hours", "x 5 sec", "1\u03bcs"),
        ("", ".s", "3 x", "2hrs", "9999999999999999999h", "99999999999999999999 s"),
    ),
    "datetime": (
        ("2020-01-01T00:00:00Z", "2020-01-01t00:00:00.123+99:99"),
        ("2020-01-01T24:00:00Z", "2020-01-01t23:59:60z", "2020-01-01", "2020-01-01T"),
    ),
    "k8sshortname": (("a-b", "1"), ("", "A", "a.b", "a" * 64)),
    "k8slongname": (("a.b-c.d",), ("aa.-b", "a" * 254)),
}


def test_every_format_has_examples() -> None:
    assert GOOD_AND_BAD.keys() == FORMATS.keys()


@pytest.mark.parametrize("name", GOOD_AND_BAD)
def test_a_format_takes_what_the_server_takes(name: str) -> None:
    good, bad = GOOD_AND_BAD[name]
    raw = foo({"type": "string", "format": name})

    for text in good:
        assert found({"foo": text}, raw) == [], text
    for text in bad:
        assert len(found({"foo": text}, raw)) == 1, text


@pytest.mark.parametrize(
    ("raw", "heeded"),
    [
        ({"type": "string", "format": "date-time"}, True),
        ({"type": "string", "format": "nonsense"}, False),
        ({"type": "string", "format": "int32"}, False),
        ({"type": "integer", "format": "int32"}, True),
        ({"type": "integer", "format": "ipv4"}, False),
        ({"type": "number", "format": "float"}, True),
        ({"type": "object", "format": "date"}, False),
        ({"x-kubernetes-int-or-string": True, "type": "integer", "format": "ipv4"}, True),
    ],
    ids=str,
)
def test_a_format_is_heeded_where_its_type_has_it(raw: dict[str, JSON], *, heeded: bool) -> None:
    structural = schema.parse(raw, profile=Profile.APISERVER)

    assert structural is not None
    assert format_of(structural) == (raw["format"] if heeded else "")


def test_a_list_passes_as_a_string_with_a_format() -> None:
    assert found({"foo": [1]}, foo({"type": "string", "format": "date"})) == []


@pytest.mark.parametrize(
    ("raw", "value", "message"),
    [
        ({"type": "number", "format": "float"}, 1e39, "Checked value must be of type number"),
        ({"type": "integer", "minimum": -9.3e18}, 1, "Minimum boundary value must be"),
        ({"type": "number", "multipleOf": -1.5}, 3.0, "must be positive: -1.5"),
        ({"type": "number", "minimum": 2.5}, 1, "greater than or equal to 2"),
        ({"type": "string", "pattern": "a("}, "a", "but pattern is invalid: error parsing"),
        ({"type": "string", "enum": [1.5, None, ["a"]]}, "x", '"1.5", "null", "[\\"a\\"]"'),
        ({"type": "string", "maxLength": -1}, "x", "value is too long"),
        ({"type": "integer", "enum": ["A"]}, 66, 'supported values: "A"'),
    ],
    ids=str,
)
def test_the_servers_oddities(raw: dict[str, JSON], value: JSON, message: str) -> None:
    assert message in "\n".join(found({"foo": value}, foo(raw)))


def test_an_integer_is_the_character_of_an_enum() -> None:
    assert found({"foo": 65}, foo({"type": "integer", "enum": ["A"]})) == []


def test_a_quotient_may_be_slightly_below_an_integer() -> None:
    assert found({"foo": 4.35}, foo({"type": "number", "multipleOf": 0.01})) == []


def test_the_same_fault_of_metadata_is_reported_once() -> None:
    raw: dict[str, JSON] = {"type": "object", "x-kubernetes-embedded-resource": True}
    resource: JSON = {
        "apiVersion": "v1",
        "kind": "Foo",
        "metadata": {"finalizers": ["a b", "a b"]},
    }

    assert len(found({"foo": resource}, foo(raw))) == 1


def test_a_bound_that_is_truncated_lets_a_smaller_integer_pass() -> None:
    assert found({"foo": 2}, foo({"type": "number", "minimum": 2.5})) == []


def keyed(value: JSON, *names: JSON) -> list[str]:
    items: JSON = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    raw: dict[str, JSON] = {"type": "array", "items": items, "x-kubernetes-list-type": "map"}
    return found({"foo": value}, foo({**raw, "x-kubernetes-list-map-keys": [*names]}))


@pytest.mark.parametrize(
    ("value", "names", "errors"),
    [
        ([{"k": 1}, {"k": 1.0}], ("k",), []),
        ([{"k": 1}, {"k": 1.0}], ("k", "l"), ['foo[1]: Duplicate value: {"k":1}']),
        ([{}, {"k": None}, {"k": {}}], ("k",), []),
        ([{}, {"l": 1}], ("k",), ["foo[1]: Duplicate value: {}"]),
    ],
)
def test_keys_of_a_map_are_compared_as_go_does(
    value: JSON, names: tuple[str, ...], errors: list[str]
) -> None:
    assert keyed(value, *names) == errors


def test_an_item_of_a_map_that_is_no_object_ends_the_check() -> None:
    raw = foo({"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map"})

    assert found({"foo": [{}, {}, "x"]}, raw)[-1] == (
        'foo[2]: Invalid value: "x": must be an object for an array of list-type map'
    )


def test_what_is_below_a_path_is_named_as_the_server_names_it() -> None:
    raw: JSON = {"type": "array", "items": {"type": "integer"}}
    structural = schema.parse(raw, profile=Profile.APISERVER)

    (finding,) = schema.validate(["x"], structural, profile=Profile.APISERVER, path=("status",))

    assert finding.type is ErrorType.TYPE_INVALID
    assert str(finding).startswith('status.[0]: Invalid value: "string": [0] in body must be')


def test_without_a_schema_every_value_is_valid() -> None:
    assert found({"foo": None}, None) == []
