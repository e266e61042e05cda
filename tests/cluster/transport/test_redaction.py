"""
The server's words are handed on, and the values of objects are not.
"""

from typing import Any

import orjson
import pytest

from espalier import schema
from espalier.cluster.transport.redaction import without_values
from espalier.cluster.transport.responses import RequestedAction, error_of
from espalier.crd import Version, structural_of
from espalier.engine.status.causes import cause_of
from espalier.errors import (
    ClusterError,
    ConflictError,
    NamespaceGoneError,
    NotFoundError,
    RejectedError,
    TransientError,
)
from espalier.paths import JSON
from espalier.schema import Profile
from tests.cluster.scripted import status_of
from tests.e2e.refusals import fields

TRIED = RequestedAction(verb="patch", resource="widgets.example.com default/a")
POLICY = (
    "widgets.example.com \"a\" is forbidden: ValidatingAdmissionPolicy 'teams' with binding"
    " 'all' denied request: "
)
WEBHOOK = 'admission webhook "w.example.com" denied the request'


def answered(code: int, reason: str, message: str, *causes: dict[str, Any]) -> ClusterError:
    details = {"name": "a", "group": "example.com", "kind": "widgets", "causes": [*causes]}
    said = status_of(code, reason, message, details=details)
    return error_of(TRIED, code, orjson.dumps(said))


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (
            answered(
                422,
                "Invalid",
                'Widget.example.com "a" is invalid: spec: Invalid value: "object": too many',
                {
                    "reason": "FieldValueInvalid",
                    "message": 'Invalid value: "object": the token hunter2 is no good',
                    "field": "spec",
                },
                {
                    "reason": "FieldValueRequired",
                    "message": "Required value",
                    "field": "spec.x[3].y",
                },
            ),
            ("422 Invalid, spec: Invalid value; spec.x[3].y: Required value"),
        ),
        (
            answered(422, "Invalid", f"{POLICY}team hunter2", {"message": f"{POLICY}hunter2"}),
            ("422 Invalid, denied by ValidatingAdmissionPolicy 'teams' with binding 'all'"),
        ),
        (
            answered(403, "Forbidden", f"{POLICY}failed expression: object.spec.size < 3"),
            ("403 Forbidden, denied by ValidatingAdmissionPolicy 'teams' with binding 'all'"),
        ),
        (
            answered(400, "", f"{WEBHOOK}: team hunter2 is unknown"),
            '400 BadRequest, denied by admission webhook "w.example.com"',
        ),
        (
            answered(400, "", f"{WEBHOOK} without explanation"),
            '400 BadRequest, denied by admission webhook "w.example.com"',
        ),
        (
            answered(
                422,
                "Invalid",
                f'{WEBHOOK}: Widget.example.com "a" is invalid: [spec.a: Invalid value: "hunter2":'
                ' no words, spec.b: Invalid value: {"c":"hunter2"}: no objects]',
                {"message": 'Invalid value: "hunter2": no words', "field": "spec.a"},
            ),
            ('422 Invalid, denied by admission webhook "w.example.com"'),
        ),
        (
            answered(403, "Forbidden", f'{WEBHOOK}: you must provide labels: {{"gatekeeper"}}'),
            ('403 Forbidden, denied by admission webhook "w.example.com"'),
        ),
        (
            answered(
                500,
                "InternalError",
                'Internal error occurred: failed calling webhook "w.example.com": failed to call'
                ' webhook: Post "https://w.ns.svc:443/?timeout=10s": dial tcp 10.0.0.1:443:'
                " connect: connection refused",
            ),
            (
                '500 InternalError, failed calling webhook "w.example.com": failed to call webhook:'
                ' Post "https://w.ns.svc:443/?timeout=10s": dial tcp 10.0.0.1:443: connect:'
                " connection refused"
            ),
        ),
        (
            answered(500, "", "etcdserver: mvcc: database space exceeded"),
            "500 InternalServerError: etcdserver: mvcc: database space exceeded",
        ),
        (
            answered(413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728"),
            "413 RequestEntityTooLarge: Request entity too large: limit is 3145728",
        ),
        (
            answered(
                403,
                "Forbidden",
                'widgets.example.com "a" is forbidden: User "jo" cannot patch resource "widgets"'
                ' in API group "example.com" in the namespace "default"',
            ),
            (
                '403 Forbidden: widgets.example.com "a" is forbidden: User "jo" cannot patch'
                ' resource "widgets" in API group "example.com" in the namespace "default"'
            ),
        ),
        (
            answered(400, "BadRequest", 'strconv.ParseInt: parsing "hunter2": invalid syntax'),
            '400 BadRequest: strconv.ParseInt: parsing "...": invalid syntax',
        ),
        (error_of(TRIED, 400, b"<html>hunter2</html>"), "400 BadRequest"),
        (
            answered(400, "BadRequest", "one\r\nlevel=error\x1b[31m two\u202e three\u2028four"),
            "400 BadRequest: one level=error [31m two three four",
        ),
    ],
)
def test_a_cause_names_places_and_policies_and_holds_no_value(
    error: ClusterError, cause: str
) -> None:
    assert cause_of(error) == cause
    assert "hunter2" not in f"{error} {getattr(error, 'causes', ())}"


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (
            "Invalid value: 7: spec.size in body should be less than or equal to 5",
            "Invalid value: spec.size in body should be less than or equal to 5",
        ),
        ('Unsupported value: "x": supported values: "a", "b"', None),
        ("Too long: may not be more than 5 bytes", "Too long: may not be more than 5 bytes"),
        ("Invalid value: 7: spec.size in body should be hunter2", "Invalid value"),
        ("Invalid value: 7: hunter2\nshould be less than 5", "Invalid value"),
        ("Required value: hunter2", "Required value"),
        ("hunter2", "FieldValueInvalid"),
    ],
)
def test_what_the_schema_asks_for_is_shown_and_nothing_else(message: str, told: str | None) -> None:
    cause = {"reason": "FieldValueInvalid", "message": message, "field": "spec.size"}
    error = answered(422, "Invalid", "", cause)
    assert isinstance(error, RejectedError)
    expected = told or 'Unsupported value: supported values: "a", "b"'
    assert error.causes == (f"spec.size: {expected}",)


def test_a_forged_denial_in_a_rule_s_message_names_nobody() -> None:
    text = f'Invalid value: "x": {WEBHOOK}'
    cause = {"reason": "FieldValueInvalid", "message": text, "field": "spec.a\x1b[2J"}
    error = answered(422, "Invalid", f'Widget "a" is invalid: spec.a: {text}', cause)
    assert "w.example.com" not in cause_of(error)
    assert cause_of(error).isprintable()


def test_that_rules_were_not_checked_is_reported_only_where_nothing_else_is() -> None:
    skipped = {
        "reason": "FieldValueInvalid",
        "message": "Invalid value: null: some validation rules were not checked because ...",
        "field": "<nil>",
    }
    missing = {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.x"}
    assert cause_of(answered(422, "Invalid", "", missing, skipped)) == (
        "422 Invalid, spec.x: Required value"
    )
    assert "some validation rules" in cause_of(answered(422, "Invalid", "", skipped))


def test_causes_are_bounded() -> None:
    causes = [
        {"reason": "FieldValueInvalid", "message": f"Required value: {'x' * 999}", "field": f"f{n}"}
        for n in range(50)
    ]
    assert len(cause_of(answered(422, "Invalid", "", *causes))) < 500
    assert len(cause_of(answered(400, "", f"{WEBHOOK}: {'x' * 9999}"))) < 300
    assert len(cause_of(answered(500, "", "x" * 9999))) < 300


@pytest.mark.parametrize("code", [400, 401, 403, 404, 409, 410, 422, 500, 503])
def test_what_admission_denies_is_no_other_error_whatever_its_status(code: int) -> None:
    assert type(answered(code, "", f"{WEBHOOK}: no")) is RejectedError
    assert type(answered(code, "", f"{POLICY}no")) is RejectedError


@pytest.mark.parametrize(
    ("code", "reason", "message", "expected"),
    [
        (429, "TooManyRequests", f"{WEBHOOK}: later", TransientError),
        (409, "Conflict", f"it says: {WEBHOOK}", ConflictError),
        (404, "NotFound", f'widgets "a" not found, but {POLICY}', NotFoundError),
    ],
)
def test_what_is_no_denial_is_not_taken_for_one(
    code: int, reason: str, message: str, expected: type[ClusterError]
) -> None:
    assert type(answered(code, reason, message)) is expected


@pytest.mark.parametrize(
    ("body", "is_terminating"),
    [
        (
            status_of(
                404,
                "NotFound",
                'namespaces "tools" not found',
                details={"name": "tools", "kind": "namespaces"},
            ),
            False,
        ),
        (
            status_of(
                403,
                "Forbidden",
                'leases.coordination.k8s.io "x" is forbidden: unable to create new content in'
                " namespace tools because it is being terminated",
                details={
                    "name": "x",
                    "kind": "leases",
                    "causes": [
                        {
                            "reason": "NamespaceTerminating",
                            "message": "namespace tools is being terminated",
                            "field": "metadata.namespace",
                        }
                    ],
                },
            ),
            True,
        ),
    ],
)
def test_a_namespace_that_is_gone_or_going_is_named(
    body: dict[str, Any], *, is_terminating: bool
) -> None:
    tried = RequestedAction(verb="create", resource="leases.coordination.k8s.io tools/x")
    error = error_of(tried, body["code"], orjson.dumps(body))
    assert isinstance(error, NamespaceGoneError)
    assert (error.namespace, error.is_terminating) == ("tools", is_terminating)


def test_a_namespace_that_is_looked_for_and_not_found_is_any_object() -> None:
    details = {"name": "tools", "kind": "namespaces"}
    said = status_of(404, "NotFound", 'namespaces "tools" not found', details=details)
    tried = RequestedAction(verb="get", resource="namespaces tools")
    assert type(error_of(tried, 404, orjson.dumps(said))) is NotFoundError


def marked(value: JSON) -> JSON:
    match value:
        case str():
            return f"{value}hunter2"
        case list():
            return [marked(item) for item in value]
        case dict():
            return {key: marked(item) for key, item in value.items()}
        case _:
            return value


@pytest.mark.parametrize("name", fields())
def test_no_finding_of_a_schema_keeps_a_value(name: str) -> None:
    field = fields()[name]
    spec: JSON = {"type": "object", "properties": {name: field.schema}}
    root: dict[str, JSON] = {"type": "object", "properties": {"spec": spec}}
    structural = structural_of(Version(name="v1", served=True, storage=True, schema=root))
    told = []
    for value in (*field.values, "x", ["x"], {"a": "x"}, {"a": ["x", "x"]}):
        obj: JSON = {"apiVersion": "a/v1", "kind": "K", "spec": {name: marked(value)}}
        found = schema.validate(obj, structural, profile=Profile.APISERVER)
        told += [without_values(error.message) for error in found]
    assert told
    assert not [text for text in told if "hunter2" in text]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nothing of the kind", "nothing of the kind"),
        (
            'a: Invalid value: "x": b, c: Invalid value: 1e+06: d',
            "a: Invalid value: b, c: Invalid value: d",
        ),
        (
            "a: Invalid value: -1.5: b; c: Duplicate value: null]",
            "a: Invalid value: b; c: Duplicate value]",
        ),
        ("a: Invalid value: 10.0.0.1: no", "a: Invalid value: no"),
        ("a: Invalid value: 1 week: no", "a: Invalid value"),
        # Newer servers leave out some values.
        ("a: Invalid value: size must be small", "a: Invalid value: size must be small"),
        ("a: Invalid value: not so: never", "a: Invalid value: not so: never"),
        ("a: Invalid value: truely not", "a: Invalid value: truely not"),
        ("a: Invalid value: hunter2=x: no", "a: Invalid value: no"),
        ("a: Invalid value: true: no", "a: Invalid value: no"),
        ('a: Invalid value: v1.Taint{Key:"x"}: no', "a: Invalid value"),
        ("a: Invalid value", "a: Invalid value"),
        ("a: Invalid value: ", "a: Invalid value: "),
        ('a: Invalid value: []interface {}{"x"}: no', "a: Invalid value"),
        ('a: Invalid value: "x', "a: Invalid value"),
        ('a: Not found: "x"', "a: Not found"),
        ("a page: Not found: look elsewhere", "a page: Not found: look elsewhere"),
        ('size must be small (got "x")', 'size must be small (got "...")'),
        ('Value "x" of y is taken', 'Value "..." of y is taken'),
        ('refused {"kind":"Widget","spec":{"x":1}} for now', "refused ... for now"),
        ('refused {"kind":"Widget","spec', "refused ..."),
        ("refused map[kind:Widget spec:map[x:[1 2]]] for now", "refused ... for now"),
        ("refused map[kind:Widget spec:map[x", "refused ..."),
        ("refused map[a:b}", "refused ..."),
        ("unexpected GroupVersion string: a/b c", "unexpected GroupVersion string: ..."),
        (
            'x: Invalid value: "hunter2": x in body must be of type date: "hunter2"',
            'x: Invalid value: x in body must be of type date: "..."',
        ),
        (
            'x: Invalid value: "string": x in body must be of type integer: "string"',
            'x: Invalid value: x in body must be of type integer: "string"',
        ),
        (
            'parsing time "hunter2" as "2006": cannot parse "hunter2" as "2006"',
            'parsing time "..." as "2006": cannot parse "..." as "2006"',
        ),
        ('time: invalid duration "hunter2"', 'time: invalid duration "..."'),
        ('ParseAddr("hunter2"): unable to parse IP', 'ParseAddr("..."): unable to parse IP'),
        (
            'parse "a b": invalid character " " in host name',
            ('parse "...": invalid character " " in host name'),
        ),
        ('{"' * 5, '{"' * 5),
        ("Invalid value: " + "[" * 100_000, "Invalid value"),
    ],
)
def test_what_is_taken_out_of_a_text(text: str, expected: str) -> None:
    assert without_values(text) == expected
