"""
A relay on loopback that counts the bytes of both directions.
"""

import socket
import threading
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

_PIECE_BYTES = 64 * 1024


class Relay:
    """
    Forward every connection to one server; use it as a context manager.

    Attributes:
        sent_bytes: The bytes from clients to the server, encrypted as on the wire.
        received_bytes: The bytes from the server to clients.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._target = (parts.hostname or "127.0.0.1", parts.port or 443)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._lock = threading.Lock()
        self.url = f"https://127.0.0.1:{self._listener.getsockname()[1]}"
        self.sent_bytes = 0
        self.received_bytes = 0

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(self._target)
            for source, target, is_sent in ((client, server, True), (server, client, False)):
                arguments = (source, target, is_sent)
                threading.Thread(target=self._copy, args=arguments, daemon=True).start()

    def _copy(self, source: socket.socket, target: socket.socket, is_sent: bool) -> None:  # noqa: FBT001
        try:
            while piece := source.recv(_PIECE_BYTES):
                target.sendall(piece)
                with self._lock:
                    if is_sent:
                        self.sent_bytes += len(piece)
                    else:
                        self.received_bytes += len(piece)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            target.close()
