"""
Read the audit log of the API servers.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

# Bodies only where a test reads them; with all bodies, the log would be the slowest part.
POLICY: dict[str, Any] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {
            "level": "Request",
            "verbs": ["update", "patch"],
            "resources": [
                {
                    "group": "apiextensions.k8s.io",
                    "resources": ["customresourcedefinitions/status"],
                }
            ],
        },
        {"level": "Metadata"},
    ],
}

_CREDENTIAL = "authentication.kubernetes.io/credential-id"
MUTATING = frozenset({"create", "update", "patch", "delete", "deletecollection"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """
    One request with its response.

    Attributes:
        credential: Identifies the ServiceAccount token; each operator may have one of its own.
        resource: The resource and subresource in RBAC: ``customresourcedefinitions/status``.
        name: The object's name; empty for a list and for most creates.
        path: The path with the query.
        received: When the server received the request, by its clock, to the microsecond.
        answered: When the server had sent the response.
        code: The HTTP status of the response.
        body: The body of the request, if the audit policy keeps it.
    """

    user: str
    user_agent: str
    credential: str
    verb: str
    group: str
    resource: str
    namespace: str
    name: str
    path: str
    received: datetime
    answered: datetime
    code: int
    body: dict[str, Any] | None

    @property
    def is_mutating(self) -> bool:
        return self.verb in MUTATING


class AuditLog:
    """
    The audit log of all API servers of one control plane.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path_for(self, server: str) -> Path:
        """
        Return the log file of one API server.
        """
        return self._folder / f"audit-{server}.log"

    def mark(self) -> dict[Path, int]:
        """
        Return the present end of the log.
        """
        return {path: path.stat().st_size for path in self._files()}

    def requests(self, since: dict[Path, int] | None = None) -> Iterator[Request]:
        """
        Yield the requests after a mark, server by server, in the order of their responses.
        """
        for path in self._files():
            with path.open("rb") as file:
                file.seek((since or {}).get(path, 0))
                for line in file:
                    if line.endswith(b"\n"):  # the last line may be incomplete
                        event = json.loads(line)
                        if event.get("stage") == "ResponseComplete" and "objectRef" in event:
                            yield _request_of(event)

    def _files(self) -> list[Path]:
        return sorted(self._folder.glob("audit-*.log"))


def _request_of(event: dict[str, Any]) -> Request:
    ref = event["objectRef"]
    subresource = ref.get("subresource")
    return Request(
        user=event["user"]["username"],
        user_agent=event.get("userAgent", ""),
        credential="".join(event["user"].get("extra", {}).get(_CREDENTIAL, ())),
        verb=event["verb"],
        group=ref.get("apiGroup", ""),
        resource=ref["resource"] + (f"/{subresource}" if subresource else ""),
        namespace=ref.get("namespace", ""),
        name=ref.get("name", ""),
        path=event["requestURI"],
        received=datetime.fromisoformat(event["requestReceivedTimestamp"]),
        answered=datetime.fromisoformat(event["stageTimestamp"]),
        code=event["responseStatus"]["code"],
        body=event.get("requestObject"),
    )
