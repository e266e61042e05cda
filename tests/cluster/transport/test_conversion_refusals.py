"""
What an API server says of a conversion webhook: that it did not answer, or what it refused.
"""

import json

import pytest

from espalier.cluster.transport.conversion_refusals import MAX_REASON_CHARACTERS, refusal_in
from espalier.cluster.transport.responses import RequestedAction, error_of
from espalier.errors import ConversionError, ConversionRefusedError

ATTEMPT = RequestedAction(verb="list", resource="widgets.example.com")
KEY = "/registry/example.com/widgets/default/o2"
WEBHOOK = "conversion webhook for example.com/v1alpha1, Kind=Widget"

# As kube-apiserver 1.37 tells it to a LIST, to a GET and to a PATCH; older ones as in the last.
LISTED = (
    "failed to read one or more widgets.example.com from the storage: StorageError: corrupt object,"
    f" Code: 7, Key: {KEY}, ResourceVersion: 0, AdditionalErrorMsg: object not decodable"
    " revision=219: {}"
)
READ = (
    "Internal error occurred: StorageError: corrupt object, Code: 7, Key:"
    " /example.com/widgets/default/o2, ResourceVersion: 0, AdditionalErrorMsg: object not decodable"
    " revision=217: {}"
)
WRITTEN = "object not decodable revision=217: {}"
PLAIN = "{}"

REFUSED = "the conversion webhook refuses it: "
MADE = "what the conversion webhook made of it is refused: "

REFUSALS = [
    (f"{WEBHOOK} failed: no v1 for o2", REFUSED + "no v1 for o2"),
    (f"{WEBHOOK} failed: two\nlines\x1b[31m", REFUSED + "two lines [31m"),
    (
        f'{WEBHOOK} failed: spec.size: Invalid value: "secret": too small',
        REFUSED + "spec.size: Invalid value: too small",
    ),
    (
        f"{WEBHOOK} failed: response.result.status was 'Failed', not 'Success'",
        REFUSED + "response.result.status was 'Failed', not 'Success'",
    ),
    (
        f"{WEBHOOK} returned invalid object: must have the same name: o2 != other",
        MADE + "returned invalid object: must have the same name: o2 != other",
    ),
    (
        f"{WEBHOOK} returned invalid converted object at index 0: missing metadata",
        f"{MADE}returned invalid converted object at index 0: missing metadata",
    ),
    (f"{WEBHOOK} returned 0 objects, expected 1", MADE + "returned 0 objects, expected 1"),
]

UNANSWERED = [
    'Post "https://hook.default.svc:443/?timeout=30s": dial tcp 10.0.0.1:443: connect: refused',
    'Post "https://127.0.0.1:1/?timeout=30s": context deadline exceeded',
    'Post "https://hook.default.svc:443/?timeout=30s": service "hook" not found',
    'Post "https://hook/": x509: certificate signed by unknown authority',
    'an error on the server ("{}") has prevented the request from succeeding',
    "the server could not find the requested resource",
    "the server is currently unable to handle the request",
    "the server rejected our request for an unknown reason",
    "the server has received too many requests and has asked us to try again later",
    'expected response.uid="a", got "b"',
    "expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got /, Kind=",
    "no response provided",
    "couldn't get version/kind; json parse error: invalid character '<'",
]


@pytest.mark.parametrize("frame", [LISTED, READ, WRITTEN, PLAIN])
@pytest.mark.parametrize(("said", "told"), REFUSALS)
def test_what_a_webhook_refuses_is_reported_with_its_message(
    frame: str, said: str, told: str
) -> None:
    message = frame.replace("{}", said)
    error = error_of(ATTEMPT, 500, json.dumps({"message": message}).encode())
    assert type(error) is ConversionRefusedError
    assert error.detail == told
    assert error.keys == (("/example.com/widgets/default/o2",) if "Key:" in frame else ())


@pytest.mark.parametrize("frame", [LISTED, READ, WRITTEN, PLAIN])
@pytest.mark.parametrize("said", UNANSWERED)
def test_one_that_does_not_answer_is_away(frame: str, said: str) -> None:
    message = frame.replace("{}", f"{WEBHOOK} failed: {said}")
    error = error_of(ATTEMPT, 500, json.dumps({"message": message}).encode())
    assert type(error) is ConversionError


def test_of_a_page_the_first_one_is_reported() -> None:
    assert refusal_in(f"{WEBHOOK} failed: no v1 (and 3 more)") == f"{REFUSED}no v1"


def test_texts_are_bounded() -> None:
    told = refusal_in(f"{WEBHOOK} failed: {'x' * 100_000}")
    assert told is not None
    assert len(told) == MAX_REASON_CHARACTERS


@pytest.mark.parametrize(
    ("text", "is_refusal"),
    [
        ("json: cannot unmarshal string into Go struct field Well.spec.size of type float64", True),
        ("json: cannot unmarshal array into Go struct field ConversionReview.response", False),
        ("json: cannot unmarshal string into Go value of type v1.ConversionReview", False),
    ],
)
def test_gos_decoder_speaks_of_the_object_or_of_the_review(text: str, *, is_refusal: bool) -> None:
    message = f"conversion webhook for example.com/v1, Kind=Well failed: {text}"

    assert (refusal_in(message) is not None) is is_refusal
