"""
A lease that is taken, renewed, and doubted.
"""

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from espalier.engine.ports.clock import Clock
from espalier.engine.ports.state import LeasesOf, LeaseSubject
from espalier.engine.status.causes import message_of
from espalier.errors import ClusterError, LeaseLostError, NamespaceGoneError

RENEWALS_PER_LEASE = 3

RENEW_AGAIN_AFTER_SECONDS = 1.0
"""After a renewal that failed: the next regular one would come when the run has to stop."""


ASK_AGAIN_SECONDS = 1.0
"""Between two tries to take a lease that another process holds."""

SPARE_SECONDS = 3.0
"""How long to wait for a lease beyond the time at which it runs out."""

LOOK_AGAIN_SECONDS = 0.1
"""How soon it is seen that a lease is not in doubt any more."""


SubjectT = TypeVar("SubjectT", bound=LeaseSubject)


class LeaseHolder(Generic[SubjectT]):
    """
    Keeps a lease: of a definition, or of a bucket.

    Args:
        kind: What the subject is, for messages.
    """

    def __init__(
        self,
        leases: LeasesOf[SubjectT],
        clock: Clock,
        subject: SubjectT,
        *,
        kind: str = "CRD",
    ) -> None:
        self._leases = leases
        self._clock = clock
        self._subject = subject
        self._kind = kind
        self._held_until_seconds = float("-inf")
        self._trouble: ClusterError | None = None
        self._sure_until_seconds = float("-inf")

    @property
    def is_in_doubt(self) -> bool:
        """
        Whether the last renewal has failed, or is late: another process may take the lease soon.
        """
        return self._clock.monotonic_seconds() > self._sure_until_seconds

    async def until_sure(self) -> None:
        """
        Wait as long as the lease is in doubt; ``expire`` ends the work if it stays so.
        """
        while self.is_in_doubt:
            await self._clock.sleep(LOOK_AGAIN_SECONDS)

    async def take(self) -> None:
        """
        Take the lease or renew it.

        Raises:
            LeaseLostError: Another process holds it.
        """
        # Counted from before the call: the server may have written it right then.
        asked_seconds = self._clock.monotonic_seconds()
        await self._leases.acquire(self._subject)
        self._held_until_seconds = asked_seconds + self._leases.duration_seconds
        regular_seconds = self._leases.duration_seconds / RENEWALS_PER_LEASE
        self._sure_until_seconds = asked_seconds + regular_seconds + RENEW_AGAIN_AFTER_SECONDS

    async def take_in_time(self, on_waiting: Callable[[LeaseLostError], Awaitable[None]]) -> None:
        """
        Take the lease once its holder has given it back, or once it has run out.

        Args:
            on_waiting: Called once for each holder; the error names it.

        Raises:
            LeaseLostError: Another process holds it, and is alive.
        """
        give_up_seconds, last_holder = float("inf"), None
        while True:
            try:
                await self.take()
            except LeaseLostError as error:
                now = self._clock.monotonic_seconds()
                give_up_seconds = min(give_up_seconds, now + error.free_in_seconds + SPARE_SECONDS)
                if now >= give_up_seconds:
                    raise
                if error.holder != last_holder:
                    last_holder = error.holder
                    await on_waiting(error)
                await self._clock.sleep(ASK_AGAIN_SECONDS)
            else:
                return

    async def renew(self) -> None:
        """
        Renew the lease again and again, and end only by an error.

        Raises:
            LeaseLostError: Another process holds it.
            NamespaceGoneError: There is no place for it any more.
        """
        regular_seconds = self._leases.duration_seconds / RENEWALS_PER_LEASE
        pause_seconds = regular_seconds
        while True:
            await self._clock.sleep(pause_seconds)
            try:
                await self.take()
            except NamespaceGoneError:
                raise
            except ClusterError as error:
                # ``expire`` decides whether it is still held.
                self._trouble, self._sure_until_seconds = error, float("-inf")
                pause_seconds = min(RENEW_AGAIN_AFTER_SECONDS, regular_seconds)
            else:
                pause_seconds = regular_seconds

    async def expire(self) -> None:
        """
        End by an error before others may take the lease, if it could not be renewed.

        Raises:
            LeaseLostError: It runs out.
        """
        margin_seconds = self._leases.duration_seconds / RENEWALS_PER_LEASE
        while True:
            now = self._clock.monotonic_seconds()
            left_seconds = self._held_until_seconds - margin_seconds - now
            if left_seconds <= 0:
                why = f" ({message_of(self._trouble)})" if self._trouble else ""
                detail = f"the lease of this {self._kind} could not be renewed in time{why}"
                raise LeaseLostError(self._subject.name, "", detail=detail)
            await self._clock.sleep(left_seconds)
