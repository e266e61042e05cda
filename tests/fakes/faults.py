"""
The calls to a server in memory: a log of them, scripted faults, and the end of the process.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from espalier.errors import (
    ConflictError,
    ExpiredTokenError,
    RejectedError,
    TransientError,
)
from tests.fakes.widgets import WIDGETS


class Killed(BaseException):
    """
    The process is no more.
    """


@dataclass(slots=True)
class Fault:
    """
    What some calls are answered with.
    """

    call: str
    error: Exception
    name: str = ""
    times: int = 1
    is_after_effect: bool = False


class ScriptedCalls:
    """
    Each call is noted, and answered with the fault that a test has put up for it.

    Attributes:
        hooks: Called before the effect of each call.
        after_hooks: Called between the effect and the answer.
        takes_seconds: How long each call of a name takes.
        is_dry: Whether writes are tried, and not kept.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self.faults: list[Fault] = []
        self.hooks: list[Callable[[str, str], None]] = []
        self.after_hooks: list[Callable[[str, str], None]] = []
        self.takes_seconds: dict[str, float] = {}
        self.kill_at: int | None = None
        self.is_killed_after_effect = False
        self.is_dry = False

    def fail(self, call: str, error: Exception, *, name: str = "", times: int = 1) -> None:
        self.faults.append(Fault(call, error, name, times))

    def fail_after(self, call: str, error: Exception, *, name: str = "", times: int = 1) -> None:
        """
        Carry out the call, and answer with an error all the same.
        """
        self.faults.append(Fault(call, error, name, times, is_after_effect=True))

    def count(self, *names: str) -> int:
        return sum(1 for call, _ in self.calls if call in names)

    async def _enter(self, call: str, name: str) -> None:
        await asyncio.sleep(self.takes_seconds.get(call, 0))
        if self.kill_at is not None and not self.is_killed_after_effect:
            self._count_down()
        self.calls.append((call, name))
        for hook in [*self.hooks]:
            hook(call, name)
        self._raise_fault(call, name, is_after_effect=False)

    async def _leave(self, call: str, name: str) -> None:
        if self.kill_at is not None and self.is_killed_after_effect:
            self._count_down()
        for hook in [*self.after_hooks]:
            hook(call, name)
        self._raise_fault(call, name, is_after_effect=True)

    def _count_down(self) -> None:
        assert self.kill_at is not None
        self.kill_at -= 1
        if self.kill_at <= 0:
            self.kill_at = 0
            raise Killed

    def _raise_fault(self, call: str, name: str, *, is_after_effect: bool) -> None:
        for fault in self.faults:
            if (
                fault.call == call
                and fault.name in ("", name)
                and fault.times > 0
                and fault.is_after_effect is is_after_effect
            ):
                fault.times -= 1
                raise fault.error


def busy(*, retry_after_seconds: float | None = None) -> TransientError:
    """
    Make a 429.
    """
    return TransientError(
        verb="patch",
        resource=WIDGETS,
        status=429,
        reason="TooManyRequests",
        retry_after_seconds=retry_after_seconds,
    )


def expired(fresh_token: str | None = None) -> ExpiredTokenError:
    """
    Make a 410.
    """
    return ExpiredTokenError(
        verb="list", resource=WIDGETS, status=410, reason="Expired", fresh_token=fresh_token
    )


def conflict() -> ConflictError:
    """
    Make a 409.
    """
    return ConflictError(verb="patch", resource=WIDGETS, status=409, reason="Conflict")


def failed_test() -> RejectedError:
    """
    Make the 422 of a JSON Patch of which a test failed: the server does not say which, or that.
    """
    return RejectedError(verb="patch", resource=WIDGETS, status=422, reason="Invalid")


def rejected(detail: str = "", *causes: str, status: int = 422) -> RejectedError:
    """
    Make a 4xx that no retry helps.
    """
    return RejectedError(
        verb="patch",
        resource=WIDGETS,
        status=status,
        reason="Invalid",
        detail=detail,
        causes=causes,
    )
