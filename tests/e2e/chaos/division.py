"""
The parts of a definition as an Indexed Job runs them, without a Job: processes that are killed.
"""

import os
import random
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from espalier.engine.ports import Part
from tests.e2e.chaos.demanding import demand, insist
from tests.e2e.controlplane.processes import Child
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import Crd
from tests.e2e.replicas import credential_of
from tests.e2e.writes import ACCOUNT, NAMESPACE

AT_A_TIME = 2
RETRIED = (3, 4, 130, 143, -signal.SIGTERM)
"""
The exit codes after which the example's Job runs a part again: the cluster could not be read, the
run stopped, or SIGTERM came.
"""

TAIL_LINES = 40


@dataclass(slots=True, kw_only=True)
class Running:
    """
    One command at work.

    Attributes:
        mark: The end of the audit log when it was started.
    """

    child: Child
    credential: str
    mark: dict[Path, int]


class Division:
    """
    Runs ``migrate --part`` for each part, a few at a time, until each has ended with 0.

    Args:
        count: How many parts there are.

    Attributes:
        starts: How often a command was started.
    """

    def __init__(self, crd: Crd, *, count: int) -> None:
        self._crd = crd
        self._plane: ControlPlane = crd.plane
        self.count = count
        self._hashes = [Part(number, count).hashes for number in range(count)]
        self._kubeconfigs = [self._account(f"-part-{number}") for number in range(count)]
        self._finishing = self._account("-finish")
        self._waiting = [*range(count)]
        self._ended: list[Child] = []
        self.running: dict[int, Running] = {}
        self.starts = 0

    def begin_again(self) -> None:
        """
        Have all parts run once more, as a Job that is created anew.
        """
        assert not self.running
        self._waiting = [*range(self.count)]

    @property
    def is_done(self) -> bool:
        """
        Whether each part has ended with 0.
        """
        return not self.running and not self._waiting

    def step(self, rates: "Rates") -> None:
        """
        Take note of parts that have ended, and start those for which there is room.

        Raises:
            ChaosError: A part ended as none may, or claims to be done and is not.
        """
        for number, one in [*self.running.items()]:
            code = one.child.exit_code
            if code is None:
                continue
            del self.running[number]
            self._ended.append(one.child)
            if code == 0:
                self._demand_rewritten(number)
                continue
            tail = one.child.tail(TAIL_LINES)
            demand(code in RETRIED, f"part {number}/{self.count} ended with {code}:\n{tail}")
            self._waiting.append(number)
        while self._waiting and len(self.running) < AT_A_TIME:
            number = self._waiting.pop(0)
            rate = f"--max-writes-per-second={rates.next()}"
            self.running[number] = self._start(
                self._kubeconfigs[number], f"--part={number}/{self.count}", rate
            )

    def kill(self, number: int) -> None:
        """
        End a part with SIGKILL, and put it behind the others.
        """
        one = self.running.pop(number)
        one.child.kill()
        self._ended.append(one.child)
        self._waiting.append(number)

    def suspend(self) -> None:
        """
        End all parts with SIGTERM, as for a Job that is suspended.
        """
        for one in self.running.values():
            os.kill(one.child.pid, signal.SIGTERM)

    def start_finish(self) -> Running:
        """
        Start the last step.
        """
        return self._start(self._finishing, "--finish", "--settle-seconds=2")

    def writes_of(self, one: Running) -> int:
        """
        Return how many objects a command has written, by the audit log.
        """
        return sum(
            request.credential == one.credential
            and request.verb == "patch"
            and request.resource == self._crd.plural
            and request.code == 200
            and "dryRun" not in request.path
            for request in self._plane.audit.requests(one.mark)
        )

    def last_words(self) -> str:
        """
        Return the ends of what the last commands have printed.
        """
        children = [*self._ended[-3:], *(one.child for one in self.running.values())]
        return "\n".join(f"{one.name}: {one.tail(TAIL_LINES)}" for one in children)

    def _demand_rewritten(self, number: int) -> None:
        old = [
            name
            for name, found in insist(self._crd.stored).items()
            if self._hashes[number].holds(found["metadata"]["uid"])
            and not found["apiVersion"].endswith("/v1")
        ]
        demand(not old, f"part {number} claims to be done, and has not rewritten {old[:5]}")

    def _account(self, suffix: str) -> Path:
        # Not an administrator, whom the server never refuses even if it is busy.
        return self._plane.service_account_kubeconfig(NAMESPACE, ACCOUNT, suffix=suffix)

    def _start(self, kubeconfig: Path, *arguments: str) -> Running:
        self.starts += 1
        mark = self._plane.audit.mark()
        child = self._plane.start_child(
            arguments[0].strip("-").replace("/", "-of-").replace("=", "-"),
            [sys.executable, "-m", "espalier", "migrate", self._crd.name, "--yes", *arguments],
            environment={**os.environ, "KUBECONFIG": str(kubeconfig)},
        )
        return Running(child=child, credential=credential_of(kubeconfig), mark=mark)


class Rates:
    """
    The rates at which parts write: mostly so slow that they can be killed in the midst of it.
    """

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def next(self) -> int:
        """
        Return objects a second; 0 stands for no limit, at which the server pushes back.
        """
        return 0 if self._chance.random() < 0.25 else self._chance.randint(25, 100)
