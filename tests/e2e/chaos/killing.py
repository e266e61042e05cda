"""
An operator process that is killed while it writes.
"""

import http
import signal
import time
from pathlib import Path

from tests.e2e.chaos.demanding import demand
from tests.e2e.controlplane.auditing import Request
from tests.e2e.crds import Crd
from tests.e2e.operating import Operator, is_ours
from tests.patience import Deadline

POLL_SECONDS = 0.05
ECHO_SECONDS = 0.5
"""So long after a kill the server may still answer, and log, what the dead process had asked."""

TAIL_LINES = 40


class Victim:
    """
    The operator, which is killed and started again.

    Attributes:
        kills: The number of kills.
        kills_while_writing: The number of kills after the process had written objects.
    """

    def __init__(self, crd: Crd, kubeconfig: Path, **settings: object) -> None:
        self._crd = crd
        self._settings = settings
        self._mark = crd.plane.audit.mark()
        self._operator = Operator(crd.plane, kubeconfig, **settings)
        self.kills = 0
        self.kills_while_writing = 0

    def revive(self) -> None:
        """
        Start the operator again after ``kill``.
        """
        self._operator.restart(**self._settings)
        # It still waits for a lease, so it has written nothing yet.
        time.sleep(ECHO_SECONDS)
        self._mark = self._crd.plane.audit.mark()

    def demand_alive(self) -> None:
        """
        Check that the operator runs: it must never end by itself.

        Raises:
            ChaosError: It ended by itself; the message has the end of its log.
        """
        child = self._operator.child
        demand(
            child.exit_code is None,
            f"the operator ended by itself with {child.exit_code}:\n{child.tail(TAIL_LINES)}",
        )

    def writes(self) -> int:
        """
        Return the number of objects that this process has written, by the audit log.
        """
        return sum(self._is_write(r) for r in self._crd.plane.audit.requests(self._mark))

    def wait_for_writes(self, count: int, *, within_seconds: float) -> bool:
        """
        Wait until this process has written a number of objects.

        Returns:
            Whether it did so in time.

        Raises:
            ChaosError: It ended by itself.
        """
        deadline = Deadline(within_seconds)
        while self.writes() < count:
            self.demand_alive()
            if deadline.has_passed():
                return False
            time.sleep(POLL_SECONDS)
        return True

    def kill(self) -> int:
        """
        End the operator with SIGKILL.

        Returns:
            The number of objects that this process had written.

        Raises:
            ChaosError: The process had already ended.
        """
        self.demand_alive()
        writes = self.writes()
        self._operator.kill()
        code = self._operator.child.exit_code
        demand(code == -signal.SIGKILL, f"the operator ended by itself just then, with {code}")
        self.kills += 1
        self.kills_while_writing += writes > 0
        return writes

    def stop(self) -> None:
        """
        End the operator with SIGTERM, as a kubelet does.

        Raises:
            ChaosError: It ended with an error.
        """
        self.demand_alive()
        code = self._operator.stop()
        tail = self._operator.child.tail(TAIL_LINES)
        demand(code == 0, f"told to stop, the operator ended with {code}:\n{tail}")

    def last_words(self) -> str:
        """
        Return the end of the operator's log.
        """
        return self._operator.child.tail(TAIL_LINES)

    def _is_write(self, request: Request) -> bool:
        return (
            request.code == http.HTTPStatus.OK
            and request.is_mutating
            and request.group == self._crd.group
            and is_ours(request)
            and "dryRun" not in request.path
        )
