"""
Replicas of the operator, of which the one that writes is killed.
"""

import http
import signal
import time
from pathlib import Path

from espalier.engine.ports.state import Bucket
from tests.e2e.chaos.demanding import demand, insist
from tests.e2e.controlplane.auditing import Request
from tests.e2e.crds import Crd
from tests.e2e.operating import Operator, is_ours
from tests.e2e.replicas import holder_of
from tests.patience import Deadline

LEADER = Bucket(0, 1).name
POLL_SECONDS = 0.05
ECHO_SECONDS = 0.5
"""So long after a kill the server may still answer, and log, what the dead process had asked."""

TAIL_LINES = 40


class Victim:
    """
    The operator, whose working replica is killed and started again.

    Args:
        replicas: How many processes; with one, none takes over.

    Attributes:
        kills: The number of kills.
        kills_while_writing: The number of kills after the process had written objects.
    """

    def __init__(self, crd: Crd, kubeconfig: Path, *, replicas: int, **settings: object) -> None:
        self._crd = crd
        self._settings = settings
        self._mark = crd.plane.audit.mark()
        self._replicas = [Operator(crd.plane, kubeconfig, **settings) for _ in range(replicas)]
        self._dead: Operator | None = None
        self.kills = 0
        self.kills_while_writing = 0

    def revive(self) -> None:
        """
        Start the replica again after ``kill``.
        """
        assert self._dead is not None
        self._dead.restart(**self._settings)
        self._dead = None
        # All still wait for a lease, so they have written nothing yet.
        time.sleep(ECHO_SECONDS)
        self._mark = self._crd.plane.audit.mark()

    def demand_alive(self) -> None:
        """
        Check that all replicas run: none must ever end by itself.

        Raises:
            ChaosError: It ended by itself; the message has the end of its log.
        """
        for replica in self._replicas:
            child = replica.child
            demand(
                replica is self._dead or child.exit_code is None,
                f"the operator ended by itself with {child.exit_code}:\n{child.tail(TAIL_LINES)}",
            )

    def writes(self) -> int:
        """
        Return the number of objects written since the last start, by the audit log.
        """
        return sum(self._is_write(r) for r in self._crd.plane.audit.requests(self._mark))

    def wait_for_writes(self, count: int, *, within_seconds: float) -> bool:
        """
        Wait until a number of objects has been written since the last start.

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
        End the replica that works with SIGKILL.

        Returns:
            The number of objects that were written since the last start.

        Raises:
            ChaosError: The process had already ended.
        """
        self.demand_alive()
        writes = self.writes()
        self._dead = self._at_work()
        self._dead.kill()
        code = self._dead.child.exit_code
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
        for replica in self._replicas:
            code = replica.stop()
            tail = replica.child.tail(TAIL_LINES)
            demand(code == 0, f"told to stop, the operator ended with {code}:\n{tail}")

    def last_words(self) -> str:
        """
        Return the end of the operator's log.
        """
        return "\n".join(replica.child.tail(TAIL_LINES) for replica in self._replicas)

    def _at_work(self) -> Operator:
        """
        Return the replica that holds the Lease, or any one if none of them does.
        """
        holder = insist(lambda: holder_of(self._crd.plane, LEADER))
        process = holder.rpartition("_")[0].rpartition("_")[2]
        found = [one for one in self._replicas if str(one.child.pid) == process]
        return found[0] if found else self._replicas[0]

    def _is_write(self, request: Request) -> bool:
        return (
            request.code == http.HTTPStatus.OK
            and request.is_mutating
            and request.group == self._crd.group
            and is_ours(request)
            and "dryRun" not in request.path
        )
