from datetime import UTC, datetime

import orjson
import pytest

from espalier.cluster.transport.responses import RequestedAction, error_of, retry_after_seconds_of
from espalier.errors import (
    ClusterError,
    ConflictError,
    ConversionError,
    ExpiredTokenError,
    ForbiddenError,
    NotFoundError,
    RejectedError,
    TransientError,
    UndecodableError,
)
from tests.cluster.scripted import status_of

TRIED = RequestedAction(verb="patch", resource="widgets.example.com default/a")


@pytest.mark.parametrize(
    ("status", "reason", "expected"),
    [
        (400, "BadRequest", RejectedError),
        (401, "Unauthorized", ForbiddenError),
        (403, "Forbidden", ForbiddenError),
        (404, "NotFound", NotFoundError),
        (405, "MethodNotAllowed", RejectedError),
        (408, "Timeout", TransientError),
        (409, "Conflict", ConflictError),
        (409, "AlreadyExists", ConflictError),
        (410, "Expired", ExpiredTokenError),
        (410, "Gone", ExpiredTokenError),
        (413, "RequestEntityTooLarge", RejectedError),
        (415, "UnsupportedMediaType", RejectedError),
        (422, "Invalid", RejectedError),
        (429, "TooManyRequests", TransientError),
        (500, "InternalError", TransientError),
        (500, "StorageReadError", UndecodableError),
        (500, "ServerTimeout", TransientError),
        (501, "NotImplemented", RejectedError),
        (503, "ServiceUnavailable", TransientError),
        (504, "Timeout", TransientError),
        (302, "", RejectedError),
        (599, "", TransientError),
    ],
)
def test_each_answer_is_the_error_that_callers_act_on(
    status: int, reason: str, expected: type[ClusterError]
) -> None:
    error = error_of(TRIED, status, orjson.dumps(status_of(status, reason, "said")))

    assert type(error) is expected
    assert (error.verb, error.resource, error.status) == (TRIED.verb, TRIED.resource, status)
    assert error.detail == ("said" if reason != "Invalid" else "")


@pytest.mark.parametrize(
    "message",
    [
        "etcdserver: request is too large",
        "rpc error: desc = trying to send message larger than max (2100000 vs. 2097152)",
    ],
)
def test_an_object_that_is_too_large_for_etcd_is_refused_and_not_tried_again(message: str) -> None:
    error = error_of(TRIED, 500, orjson.dumps(status_of(500, "", message)))

    assert type(error) is RejectedError
    assert "larger than max" in error.detail or "too large" in error.detail


@pytest.mark.parametrize("reason", ["InternalError", "StorageReadError"])
def test_a_conversion_webhook_that_is_away_is_reported_as_such(reason: str) -> None:
    text = 'conversion webhook for example.com/v1, Kind=Widget failed: Post "https://x/": EOF'
    error = error_of(TRIED, 500, orjson.dumps(status_of(500, reason, text)))
    assert type(error) is ConversionError


@pytest.mark.parametrize(
    ("body", "is_object"),
    [
        (b'{"kind":"Status","code":404,"details":{"name":"a","kind":"widgets"}}', True),
        (b'{"kind":"Status","code":404,"details":{}}', False),
        (b'{"kind":"Status","code":404}', False),
        (b"404 page not found", False),
    ],
)
def test_an_object_that_is_gone_is_distinguished_from_a_resource_that_is_not_served(
    body: bytes, *, is_object: bool
) -> None:
    error = error_of(TRIED, 404, body)
    assert isinstance(error, NotFoundError)
    assert error.is_object is is_object


def test_an_expired_token_comes_with_the_fresh_one() -> None:
    said = status_of(410, "Expired", metadata={"continue": "fresh"})

    error = error_of(TRIED, 410, orjson.dumps(said))

    assert isinstance(error, ExpiredTokenError)
    assert error.fresh_token == "fresh"  # noqa: S105 - no password


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>password=hunter2</html>",
        b"[]",
        b"3",
        b'{"message": 3}',
        b'{"details": "none"}',
        b'{"metadata": {"continue": 7}}',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
@pytest.mark.parametrize("status", [400, 410, 422, 500, 503])
def test_a_body_that_is_no_status_still_makes_an_error_and_is_not_repeated(
    status: int, body: bytes
) -> None:
    error = error_of(TRIED, status, body)

    assert error.detail == ""
    assert error.reason


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ('Invalid value: "hunter2": must be shorter', "Invalid value"),
        ('Invalid value: "hun\\"ter2": must: be', "Invalid value"),
        ('Invalid value: {"a":"hunter2"}: too big', "Invalid value"),
        ("Invalid value: 17: too big", "Invalid value"),
        ('Invalid value: map[string]interface {}{"a":"hunter2"}: too big', "Invalid value"),
        (
            'Unsupported value: "hunter2": supported values: "a"',
            'Unsupported value: supported values: "a"',
        ),
        ('Invalid value: "hunter2', "Invalid value"),
        ("Required value", "Required value"),
    ],
)
def test_values_are_taken_out_of_field_errors(message: str, expected: str) -> None:
    causes = [{"reason": "FieldValueInvalid", "message": message, "field": "spec.x"}]
    said = status_of(
        422, "Invalid", f'Widget "a" is invalid: spec.x: {message}', details={"causes": causes}
    )

    error = error_of(TRIED, 422, orjson.dumps(said))

    assert isinstance(error, RejectedError)
    assert "hunter2" not in f"{error} {error.causes}"
    assert error.causes == (f"spec.x: {expected}",)
    assert error.detail == f'Widget "a" is invalid: {error.causes[0]}'


def test_undecodable_objects_are_named_by_their_keys() -> None:
    causes = [
        {
            "field": "/registry/example.com/widgets/default/a",
            "message": "StorageError: corrupt object",
        },
        {"field": "/example.com/widgets/default/b", "message": "StorageError: corrupt object"},
        {"message": "too many errors, the list is truncated"},
    ]
    said = status_of(500, "StorageReadError", "failed to read", details={"causes": causes})

    error = error_of(TRIED, 500, orjson.dumps(said))

    assert isinstance(error, UndecodableError)
    assert error.keys == ("/example.com/widgets/default/a", "/example.com/widgets/default/b")


def test_one_undecodable_object_is_reported_by_the_message() -> None:
    message = (
        "Internal error occurred: StorageError: corrupt object, Code: 7, Key: "
        "/example.com/widgets/default/a, ResourceVersion: 0, AdditionalErrorMsg: object not "
        "decodable revision=5: unexpected end of JSON input"
    )

    error = error_of(TRIED, 500, orjson.dumps(status_of(500, "InternalError", message)))

    assert isinstance(error, UndecodableError)
    assert error.keys == ("/example.com/widgets/default/a",)


def test_a_long_text_is_cut() -> None:
    error = error_of(TRIED, 400, orjson.dumps(status_of(400, "BadRequest", "x" * 100_000)))

    assert len(error.detail) == 1000


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        ("0", 0.0),
        ("17", 17.0),
        ("Fri, 02 Jan 2026 03:04:15 GMT", 10.0),
        ("Fri, 02 Jan 2026 03:03:15 GMT", 0.0),
        ("-5", None),
        ("soon", None),
        ("1.5", None),
        ("", None),
        ("9" * 5000, None),
        ("Fri, 99 Jan 2026 03:04:15 GMT", None),
        ("Fri, 02 Jan 2026 03:04:15 -0000", None),
        ("\u0663", None),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(
    value: str | None, expected: float | None
) -> None:
    now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

    assert retry_after_seconds_of(value, now=now) == expected


def test_the_status_states_when_to_come_again_if_the_header_does_not() -> None:
    said = status_of(500, "ServerTimeout", details={"retryAfterSeconds": 2})

    error = error_of(TRIED, 500, orjson.dumps(said))

    assert isinstance(error, TransientError)
    assert error.retry_after_seconds == 2
