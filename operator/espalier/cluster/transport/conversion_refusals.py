"""
Recognise in an error message whether a conversion webhook failed, or refused an object. Pure.

The server reports both as plain text. When the webhook could not be called, or its response was not
valid, the text comes from Go's network code, from the API server's client, or from the server. Any
other text comes from the webhook itself, or is about an object that the webhook returned.

Source:
    apiextensions-apiserver, ``pkg/apiserver/conversion/webhook_converter.go``; apimachinery,
    ``pkg/api/errors/errors.go``, ``NewGenericServerResponse``.
"""

import re

from espalier.cluster.transport.redaction import on_one_line, shortened, without_values

MAX_REASON_CHARACTERS = 200

_WEBHOOK_ERROR = re.compile(
    r"conversion webhook for [^\n]{1,600}?, Kind=\S{1,300}"
    r"(?: failed: (?P<reason>.*)| (?P<object>returned .*))",
    re.DOTALL,
)
_NO_ANSWER = re.compile(
    # The webhook could not be called.
    r"(?:Post|Get) \"|dial tcp|context deadline exceeded|net/http: |x509: |tls: |EOF\b"
    r"|http2: |read tcp|write tcp|unexpected EOF"
    r"|service \"[^\"]*\" not found|no endpoints available|no service port|failed to find"
    # The webhook responded with an HTTP error.
    r"|an error on the server \(|the server \b(?:could not find the requested|rejected our request"
    r"|has asked for the client|was unable to|does not allow this method|is currently unable"
    r"|has received too many|responded with the status code|reported a conflict)"
    r"|Internal error occurred: |Unauthorized$|unknown$"
    # The response does not belong to the request, or is not valid.
    r"|expected response\.uid=|expected webhook response of|no response provided"
    r"|unrecognized response type|couldn't get version/kind|no kind \"|unable to decode"
    r"|Object 'Kind' is missing|invalid character"
    # Of another type, the webhook could not decode the object.
    r"|json: cannot unmarshal [^\n]{1,200} into Go (?:struct field|value of type) "
    r"(?:v1(?:beta1)?\.)?(?:ConversionRe(?:view|sponse|quest)|Status|RawExtension)\b"
)
# For a list, the server gives the first object's text and the number of the others.
_MORE = re.compile(r" \(and \d+ more\)$")


def refusal_in(message: str) -> str | None:
    """
    Return the webhook's reason for refusing an object.

    Args:
        message: The whole message of the server.

    Returns:
        One line without values of the object; None if the webhook failed instead.
    """
    found = _WEBHOOK_ERROR.search(message)
    if found is None:
        return None
    if found["object"] is not None:
        text = f"what the conversion webhook made of it is refused: {found['object']}"
    elif _NO_ANSWER.match(found["reason"]):
        return None
    else:
        text = f"the conversion webhook refuses it: {_MORE.sub('', found['reason'])}"
    return shortened(on_one_line(without_values(text)), MAX_REASON_CHARACTERS)
