"""
Read and write the bytes in etcd through its JSON gateway.
"""

import base64
import http.client
import json
from collections.abc import Iterator, Mapping
from typing import Any

TIMEOUT_SECONDS = 10.0
PAGE_SIZE = 200


class Etcd:
    """
    A client of one etcd that listens on loopback without TLS.
    """

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.port = port

    def is_healthy(self) -> bool:
        """
        Report whether etcd accepts requests.
        """
        try:
            return self._call("GET", "/health", None).get("health") == "true"
        except (OSError, http.client.HTTPException):
            return False

    def get(self, key: str) -> bytes | None:
        """
        Return the value of a key; None if the key does not exist.
        """
        found = self._call("POST", "/v3/kv/range", {"key": _encode(key.encode())}).get("kvs", [])
        return base64.b64decode(found[0].get("value", "")) if found else None

    def put(self, key: str, value: bytes) -> None:
        """
        Write the value of a key, without the checks of an API server.
        """
        self._call("POST", "/v3/kv/put", {"key": _encode(key.encode()), "value": _encode(value)})

    def put_many(self, values: Mapping[str, bytes]) -> None:
        """
        Write the values of up to 128 keys in one transaction, etcd's own limit.
        """
        puts = [
            {"requestPut": {"key": _encode(key.encode()), "value": _encode(value)}}
            for key, value in values.items()
        ]
        self._call("POST", "/v3/kv/txn", {"success": puts})

    def database_bytes(self) -> int:
        """
        Return the size of the database file.
        """
        return int(self._call("POST", "/v3/maintenance/status", {})["dbSize"])

    def delete(self, key: str) -> None:
        """
        Delete one key, if it exists.
        """
        self._call("POST", "/v3/kv/deleterange", {"key": _encode(key.encode())})

    def delete_prefix(self, prefix: str) -> int:
        """
        Delete every key below a prefix.

        Returns:
            The number of deleted keys.
        """
        start = prefix.encode()
        body = {"key": _encode(start), "range_end": _encode(_end_of(start))}
        return int(self._call("POST", "/v3/kv/deleterange", body).get("deleted", 0))

    def refuse_writes(self, *, is_full: bool) -> None:
        """
        Raise or end the alarm of a full database, under which all writes are refused.
        """
        status = self._call("POST", "/v3/maintenance/status", {})
        body = {
            "action": "ACTIVATE" if is_full else "DEACTIVATE",
            "memberID": status["header"]["member_id"],
            "alarm": "NOSPACE",
        }
        self._call("POST", "/v3/maintenance/alarm", body)

    def count(self, prefix: str) -> int:
        """
        Return the number of keys below a prefix.
        """
        start = prefix.encode()
        body = {"key": _encode(start), "range_end": _encode(_end_of(start)), "count_only": True}
        return int(self._call("POST", "/v3/kv/range", body).get("count", 0))

    def history(self, key: str) -> Iterator[tuple[int, bytes]]:
        """
        Yield every value that a key ever had, newest first, with its revision.

        The history must not have been compacted.
        """
        revision = 0
        while True:
            body = {"key": _encode(key.encode()), "revision": revision}
            pairs = self._call("POST", "/v3/kv/range", body).get("kvs", [])
            if not pairs:
                return
            written = int(pairs[0]["mod_revision"])
            yield written, base64.b64decode(pairs[0].get("value", ""))
            revision = written - 1

    def values(self, prefix: str, *, revision: int = 0) -> Iterator[tuple[str, bytes]]:
        """
        Yield every key below a prefix, and its value, in the order of the keys.

        Args:
            revision: The revision to read; 0 for the newest.
        """
        for pair in self._pairs(prefix, revision=revision):
            yield base64.b64decode(pair["key"]).decode(), base64.b64decode(pair.get("value", ""))

    def writes(self, prefix: str) -> Iterator[tuple[str, int]]:
        """
        Yield every key below a prefix, and how often it was written since it was created.
        """
        for pair in self._pairs(prefix, keys_only=True):
            yield base64.b64decode(pair["key"]).decode(), int(pair["version"])

    def _pairs(
        self, prefix: str, *, revision: int = 0, keys_only: bool = False
    ) -> Iterator[dict[str, Any]]:
        start, end = prefix.encode(), _end_of(prefix.encode())
        while True:
            body = {
                "key": _encode(start),
                "range_end": _encode(end),
                "limit": PAGE_SIZE,
                "revision": revision,
                "keys_only": keys_only,
            }
            answer = self._call("POST", "/v3/kv/range", body)
            pairs = answer.get("kvs", [])
            yield from pairs
            if not answer.get("more"):
                return
            start = base64.b64decode(pairs[-1]["key"]) + b"\0"

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_SECONDS)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        if response.status != http.client.OK:
            raise http.client.HTTPException(f"etcd: {path}: {response.status} {content[:200]!r}")
        answer: dict[str, Any] = json.loads(content)
        return answer


def _encode(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _end_of(prefix: bytes) -> bytes:
    # The first key after the prefix; no prefix here ends in 0xff.
    return prefix[:-1] + bytes([prefix[-1] + 1])
