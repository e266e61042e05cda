"""
Webhooks for tests, served over TLS on loopback.
"""

import base64
import json
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.e2e.controlplane.certificates import Authority

Document = dict[str, Any]
Convert = Callable[[Document, str], Document]
Admit = Callable[[Document], Document]


class Webhook:
    """
    One HTTPS server.

    Attributes:
        requests: The number of reviews so far.
        is_broken: Whether every review gets the status 500.
    """

    def __init__(self, folder: Path, answer: Callable[[Document], Document]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._authority = Authority(folder)
        self.requests = 0
        self.is_broken = False
        pair = self._authority.issue_for_server("webhook")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pair.certificate, pair.key)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self, answer))
        self._server.daemon_threads = True
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def authority_pem(self) -> bytes:
        """
        The certificate authority for the API server, as PEM.
        """
        return self._authority.certificate.read_bytes()

    def client_config(self, *, more: bytes = b"") -> Document:
        """
        Return a ``clientConfig``; ``more`` has further certificates to trust.
        """
        bundle = base64.b64encode(self.authority_pem + more).decode()
        return {
            "url": f"https://127.0.0.1:{self._server.server_address[1]}/",
            "caBundle": bundle,
        }

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Refusal(Exception):  # noqa: N818 - an answer like any other
    """
    The webhook refuses to convert an object.
    """


def converting(convert: Convert) -> Callable[[Document], Document]:
    """
    Return a handler for ConversionReviews; if one object is refused, the whole review fails.
    """

    def answer(review: Document) -> Document:
        request = review["request"]
        wanted = request["desiredAPIVersion"]
        try:
            converted = [convert(obj, wanted) for obj in request["objects"]]
        except Refusal as refusal:
            converted, result = [], {"status": "Failed", "message": str(refusal)}
        else:
            result = {"status": "Success"}
        return {
            "apiVersion": review["apiVersion"],
            "kind": "ConversionReview",
            "response": {
                "uid": request["uid"],
                "convertedObjects": converted,
                "result": result,
            },
        }

    return answer


def admitting(admit: Admit) -> Callable[[Document], Document]:
    """
    Return a handler for AdmissionReviews; ``admit`` returns the response without its uid.
    """

    def answer(review: Document) -> Document:
        return {
            "apiVersion": review["apiVersion"],
            "kind": "AdmissionReview",
            "response": {"uid": review["request"]["uid"], **admit(review["request"])},
        }

    return answer


def _handler(
    webhook: Webhook, answer: Callable[[Document], Document]
) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, content = 500, b"{}"
            if not webhook.is_broken:
                status, content = 200, json.dumps(answer(json.loads(body))).encode()
            webhook.requests += 1
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    return Handler
