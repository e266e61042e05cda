"""
A relay on loopback in front of several API servers, whose connections can be cut or held up.
"""

import contextlib
import socket
import threading
from collections.abc import Callable

_Pair = tuple[socket.socket, socket.socket]


class CuttingRelay:
    """
    Forward each connection to one of several ports, as a load balancer does.

    Args:
        choose: Returns the port for a new connection; None refuses it.
    """

    def __init__(self, choose: Callable[[], int | None]) -> None:
        self._choose = choose
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._flows = threading.Event()
        self._flows.set()
        self._open: set[_Pair] = set()
        self._lock = threading.Lock()
        self.url = f"https://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> int:
        """
        Close all connections in whatever they are doing; return how many there were.
        """
        with self._lock:
            pairs = list(self._open)
        for pair in pairs:
            self._end(pair)
        return len(pairs)

    def hold(self) -> None:
        """
        Forward nothing more, on connections that stay open.
        """
        self._flows.clear()

    def go_on(self) -> None:
        """
        Forward what was held, and all that comes.
        """
        self._flows.set()

    def close(self) -> None:
        """
        End everything.
        """
        self._listener.close()
        self._flows.set()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            port = self._choose()
            try:
                if port is None:
                    raise ConnectionRefusedError
                server = socket.create_connection(("127.0.0.1", port))
            except OSError:
                client.close()
                continue
            pair = client, server
            with self._lock:
                self._open.add(pair)
            for ends in (pair, pair[::-1]):
                threading.Thread(target=self._copy, args=(*ends, pair), daemon=True).start()

    def _copy(self, source: socket.socket, target: socket.socket, pair: _Pair) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(64 * 1024):
                self._flows.wait()
                target.sendall(piece)
        self._end(pair)

    def _end(self, pair: _Pair) -> None:
        with self._lock:
            self._open.discard(pair)
        for each in pair:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
