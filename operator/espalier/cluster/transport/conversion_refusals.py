"""
What a server's text on a conversion webhook is about: the webhook, or one of the objects. Pure.

Both come as a plain text. One that could not be called, or whose answer is none, is told in the
words of Go's network code, of the API server's own client, or of the server. Whatever else it is,
the webhook has said it itself, or has sent an object that is not what it was sent.

Source:
    apiextensions-apiserver, ``pkg/apiserver/conversion/webhook_converter.go``; apimachinery,
    ``pkg/api/errors/errors.go``, ``NewGenericServerResponse``.
"""

import re

from espalier.cluster.transport.redaction import on_one_line, shortened, without_values

MAX_WORDS_CHARACTERS = 200

_TOLD = re.compile(
    r"conversion webhook for [^\n]{1,600}?, Kind=\S{1,300}"
    r"(?: failed: (?P<words>.*)| (?P<object>returned .*))",
    re.DOTALL,
)
_NO_ANSWER = re.compile(
    # It could not be called.
    r"(?:Post|Get) \"|dial tcp|context deadline exceeded|net/http: |x509: |tls: |EOF\b"
    r"|http2: |read tcp|write tcp|unexpected EOF"
    r"|service \"[^\"]*\" not found|no endpoints available|no service port|failed to find"
    # It answered with an error of HTTP.
    r"|an error on the server \(|the server \b(?:could not find the requested|rejected our request"
    r"|has asked for the client|was unable to|does not allow this method|is currently unable"
    r"|has received too many|responded with the status code|reported a conflict)"
    r"|Internal error occurred: |Unauthorized$|unknown$"
    # Its answer is no answer to what it was asked.
    r"|expected response\.uid=|expected webhook response of|no response provided"
    r"|unrecognized response type|couldn't get version/kind|no kind \"|unable to decode"
    r"|Object 'Kind' is missing|json: cannot|invalid character"
)
# Of a list: the first object's text is told, and how many more there are.
_MORE = re.compile(r" \(and \d+ more\)$")


def refusal_in(message: str) -> str | None:
    """
    Say that the webhook refuses an object, in its words.

    Args:
        message: The server's whole text.

    Returns:
        One line without an object's values; None if the webhook has not answered as it must.
    """
    told = _TOLD.search(message)
    if told is None:
        return None
    if told["object"] is not None:
        text = f"what the conversion webhook made of it is refused: {told['object']}"
    elif _NO_ANSWER.match(told["words"]):
        return None
    else:
        text = f"the conversion webhook refuses it: {_MORE.sub('', told['words'])}"
    return shortened(on_one_line(without_values(text)), MAX_WORDS_CHARACTERS)
