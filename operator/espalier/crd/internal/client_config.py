"""
The client configuration of a conversion webhook, and the check of its certificates.
"""

import re
from binascii import a2b_base64
from typing import NamedTuple

from espalier.crd.internal.fields import Fields

_DEFAULT_PORT = 443


class Service(NamedTuple):
    """
    The service of a webhook; ``path`` is None if it is absent.
    """

    namespace: str
    name: str
    path: str | None
    port: int


class ClientConfig(NamedTuple):
    """
    How a webhook is called, and the CA bundle that verifies it.

    Attributes:
        ca_bundle: Decoded from base64; empty if it is absent.
    """

    url: str | None
    service: Service | None
    ca_bundle: bytes


def read_client_config(config: Fields | None) -> ClientConfig | None:
    """
    Read a ``clientConfig``.

    Raises:
        MalformedDefinitionError: A field has the wrong JSON type, or is not base64.
    """
    if config is None:
        return None
    service = config.object("service")
    return ClientConfig(
        url=config.optional_text("url"),
        service=None
        if service is None
        else Service(
            service.text("namespace"),
            service.text("name"),
            service.optional_text("path"),
            service.integer("port", default=_DEFAULT_PORT),
        ),
        ca_bundle=config.data("caBundle"),
    )


def ca_bundle_problem(bundle: bytes) -> str:
    """
    Return the server's message if a bundle has no usable certificate; empty if it has one.

    One readable certificate is enough, whatever else is in the bundle. All unreadable certificates
    have the same message.

    Source:
        client-go, ``transport/transport.go``, ``rootCertPool``; Go, ``crypto/x509``,
        ``AppendCertsFromPEM``.
    """
    blocks = [block for block in _BLOCK.finditer(bundle) if _decoded(block["body"]) is not None]
    candidates = [
        _decoded(block["body"]) or b""
        for block in blocks
        # A block with headers is ignored.
        if block["kind"] == b"CERTIFICATE" and block["headers"] is None
    ]
    if any(map(_is_certificate, candidates)):
        return ""
    if candidates:
        reason = "failed to parse certificate: x509: malformed certificate"
    elif blocks and blocks[-1].end() == len(bundle):
        reason = "no valid certificate authority data seen"
    else:
        # The server reports this for anything after the last block, even an empty line.
        reason = "unable to parse bytes as PEM block"
    return f"unable to load root certificates: {reason}"


_BLOCK = re.compile(
    rb"(?:^|(?<=\n))-----BEGIN (?P<kind>[^\n]*?)-----[ \t\r]*\n"
    rb"(?P<headers>(?:[^\n:]+:[^\n]*\n)+\r?\n)?"
    rb"(?P<body>[^-]*)-----END (?P=kind)-----[ \t\r]*(?:\n|\Z)"
)


def _decoded(body: bytes) -> bytes | None:
    try:
        return a2b_base64(re.sub(rb"[ \t\r\n]", b"", body), strict_mode=True)
    except ValueError:
        return None


def _is_certificate(encoded: bytes) -> bool:
    import ssl  # noqa: PLC0415 - few definitions have a webhook

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=encoded)
    except (ValueError, ssl.SSLError):
        return False
    return True
