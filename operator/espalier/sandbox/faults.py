"""
Faults for tests: scripted responses, denied permissions, stalled watches.
"""

import asyncio
import re
from dataclasses import dataclass

from espalier.sandbox.wire import RequestRefusal, qualified


@dataclass(slots=True, kw_only=True)
class Fault:
    """
    A failure of the requests that match.

    Attributes:
        method: The HTTP method to match; empty for all.
        path: A regular expression that is searched for in the path.
        verb: The RBAC verb to match; empty for all.
        skip: The number of matching requests that succeed first.
        times: The number of requests that fail after that; None for all.
        status: The status of the response; 0 closes the connection without a response.
        retry_after_seconds: The value of the ``Retry-After`` header.
        after_write: Whether to carry out the request first, so that only the response is lost.
    """

    method: str = ""
    path: str = ""
    verb: str = ""
    skip: int = 0
    times: int | None = 1
    status: int = 503
    reason: str = ""
    message: str = "scripted"
    retry_after_seconds: int | None = None
    after_write: bool = False

    def hits(self, method: str, path: str, verb: str) -> bool:
        """
        Report whether a request fails, and count it.
        """
        if self.method not in ("", method) or self.verb not in ("", verb):
            return False
        if not re.search(self.path, path) or self.times == 0:
            return False
        if self.skip:
            self.skip -= 1
            return False
        if self.times is not None:
            self.times -= 1
        return True

    def refusal(self) -> RequestRefusal:
        """
        Return the error response.
        """
        details = None
        if self.retry_after_seconds is not None:
            details = {"retryAfterSeconds": self.retry_after_seconds}
        return RequestRefusal(
            status=self.status, reason=self.reason, message=self.message, details=details
        )


class Faults:
    """
    The active faults.
    """

    def __init__(self) -> None:
        self._faults: list[Fault] = []
        self._denied: set[tuple[str, str, str]] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._watches: set[asyncio.Event] = set()
        self.watch_epoch = 0

    def add(self, fault: Fault) -> Fault:
        """
        Activate a fault.
        """
        self._faults.append(fault)
        return fault

    def clear(self) -> None:
        """
        Remove all faults.
        """
        self._faults.clear()
        self._denied.clear()
        self.resume_watches()

    def find(self, method: str, path: str, verb: str) -> Fault | None:
        """
        Return the fault for a request, and count the request; None if there is no fault.
        """
        return next((fault for fault in self._faults if fault.hits(method, path, verb)), None)

    def deny(self, verb: str, group: str, resource: str) -> None:
        """
        Deny a permission; ``resource`` may be ``widgets/status``.
        """
        self._denied.add((verb, group, resource))

    def allow(self, verb: str, group: str, resource: str) -> None:
        """
        Grant a denied permission again.
        """
        self._denied.discard((verb, group, resource))

    @property
    def has_denials(self) -> bool:
        """
        Whether any permission is denied.
        """
        return bool(self._denied)

    def is_denied(self, verb: str, group: str, resource: str) -> bool:
        """
        Report whether a permission is denied.
        """
        return (verb, group, resource) in self._denied

    def check(self, verb: str, group: str, resource: str, namespace: str) -> None:
        """
        Refuse a request without permission.

        Raises:
            Refusal: 403.
        """
        if not self.is_denied(verb, group, resource):
            return
        where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
        plural = resource.partition("/")[0]
        raise RequestRefusal(
            status=403,
            reason="Forbidden",
            message=f'{qualified(group, plural)} is forbidden: User "sandbox" cannot {verb} '
            f'resource "{resource}" in API group "{group}" {where}',
            details={"group": group, "kind": plural},
        )

    def stall_watches(self) -> None:
        """
        Hold back all watch events; connections stay open.
        """
        self._flowing.clear()

    def resume_watches(self) -> None:
        """
        Let watch events through again.
        """
        self._flowing.set()

    def close_watches(self) -> None:
        """
        End all open watches.
        """
        self.watch_epoch += 1
        for event in self._watches:
            event.set()

    @property
    def open_watches(self) -> int:
        """
        The number of watches that are open.
        """
        return len(self._watches)

    def attach(self, event: asyncio.Event) -> None:
        """
        Register an event that is set when watches must end.
        """
        self._watches.add(event)

    def detach(self, event: asyncio.Event) -> None:
        """
        Unregister an event.
        """
        self._watches.discard(event)

    async def flow(self) -> None:
        """
        Wait until watches are not stalled.
        """
        await self._flowing.wait()
