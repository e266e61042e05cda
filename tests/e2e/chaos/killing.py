"""
The operator that is killed: only ever by us, and in the midst of its writes.
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
    The operator, life after life.

    Attributes:
        kills: How often it was killed.
        kills_while_writing: How often when it had written objects in that life.
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
        Start it again after ``kill``.
        """
        self._operator.restart(**self._settings)
        # It has a lease to wait for, so it writes nothing yet.
        time.sleep(ECHO_SECONDS)
        self._mark = self._crd.plane.audit.mark()

    def demand_alive(self) -> None:
        """
        See that it runs: whatever happens to the cluster, it ends only when it is told to.

        Raises:
            ChaosError: It ended by itself; the message has its last words.
        """
        child = self._operator.child
        demand(
            child.exit_code is None,
            f"the operator ended by itself with {child.exit_code}:\n{child.tail(TAIL_LINES)}",
        )

    def writes(self) -> int:
        """
        Count the objects that it has written in this life, by what the server has answered.
        """
        return sum(self._is_write(r) for r in self._crd.plane.audit.requests(self._mark))

    def wait_for_writes(self, count: int, *, within_seconds: float) -> bool:
        """
        Wait until it has written so many objects in this life.

        Returns:
            Whether it came to that in time.

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
        End it by SIGKILL.

        Returns:
            How many objects it had written in this life.

        Raises:
            ChaosError: It was dead already.
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
        End it by SIGTERM, as a kubelet does.

        Raises:
            ChaosError: It did not end well.
        """
        self.demand_alive()
        code = self._operator.stop()
        tail = self._operator.child.tail(TAIL_LINES)
        demand(code == 0, f"told to stop, the operator ended with {code}:\n{tail}")

    def last_words(self) -> str:
        """
        Read the end of its log.
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
