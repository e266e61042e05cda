"""
Who asked the API server for what: its audit log.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

# Bodies only where a test looks into them: everything else would make the log the slowest part.
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

MUTATING = frozenset({"create", "update", "patch", "delete", "deletecollection"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """
    One request that the API server has answered.

    Attributes:
        resource: As RBAC says it, with the subresource: ``customresourcedefinitions/status``.
        name: Empty for a list and for most creations.
        path: With the query.
        received: When the server got it, by the server's clock, to the microsecond.
        answered: When the server had answered it.
        code: The HTTP status of the answer.
        body: What was sent, where the policy keeps it.
    """

    user: str
    user_agent: str
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
        Name the file that one API server writes.
        """
        return self._folder / f"audit-{server}.log"

    def mark(self) -> dict[Path, int]:
        """
        Remember how far the log goes now.
        """
        return {path: path.stat().st_size for path in self._files()}

    def requests(self, since: dict[Path, int] | None = None) -> Iterator[Request]:
        """
        Yield what was answered after a mark, server by server, in order of the answers.
        """
        for path in self._files():
            with path.open("rb") as file:
                file.seek((since or {}).get(path, 0))
                for line in file:
                    if line.endswith(b"\n"):  # the last one may be half written
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
