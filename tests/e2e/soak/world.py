"""
The control plane of a soak: two API servers behind a relay, and replicas that reach only that.
"""

import random
import shutil
import signal
import time
from pathlib import Path

from tests.e2e.chaos.demanding import demand
from tests.e2e.controlplane.api import Api
from tests.e2e.controlplane.assets import find_assets
from tests.e2e.controlplane.processes import Child
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.operating import Operator
from tests.e2e.replicas import LEASE_SECONDS, credential_of
from tests.e2e.soak.relay import CuttingRelay
from tests.e2e.writes import ACCOUNT, NAMESPACE

ROOT = Path(__file__).parents[3]
REPLICAS = 2
# JSON, so that Leases can be read in etcd.
FLAGS = ("--etcd-compaction-interval=0", "--storage-media-type=application/json")
SETTINGS = {
    "settle_seconds": 2,
    "page_size": 250,
    "resync_seconds": 5,
    "lease_seconds": LEASE_SECONDS,
    "progress_seconds": 1,
}


class World:
    """
    What is broken, and what repairs it.

    Attributes:
        replicas: The operators.
        pids: All processes that a replica ever was, by the credential of its token.
    """

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.plane = ControlPlane(find_assets(), is_durable=True, api_server_flags=FLAGS)
        self._second: tuple[Child, Api] | None = None
        self.relay = CuttingRelay(self._port)
        self.replicas: list[Operator] = []
        self._credentials: list[str] = []
        self.pids: dict[str, set[int]] = {}

    def start(self) -> None:
        """
        Start the servers, and install the operator's manifests.
        """
        self.plane.start()
        self._second = self.plane.start_second_api_server()
        self.plane.kubectl("apply", "-k", str(ROOT / "manifests"))

    def start_replicas(self) -> None:
        """
        Start the replicas, each with a token of its own.
        """
        for number in range(REPLICAS):
            kubeconfig = self.plane.service_account_kubeconfig(
                NAMESPACE, ACCOUNT, suffix=f"-{number}", url=self.relay.url
            )
            self.replicas.append(Operator(self.plane, kubeconfig, **SETTINGS))
            self._credentials.append(credential_of(kubeconfig))
            self._note(number)

    def stop(self) -> None:
        """
        End everything.
        """
        self.relay.close()
        self.plane.stop()

    def demand_alive(self) -> None:
        """
        Demand that no replica has ended by itself.
        """
        for one in self.replicas:
            code = one.child.exit_code
            demand(code is None, f"the operator ended by itself with {code}:\n{one.child.tail(40)}")

    def kill_replica(self, number: int) -> None:
        """
        End a replica with SIGKILL, and start it again.
        """
        self.replicas[number].kill()
        self._again(number)

    def end_replica(self, number: int) -> None:
        """
        End a replica with SIGTERM, and start it again.
        """
        code = self.replicas[number].stop()
        tail = self.replicas[number].child.tail(40)
        # Right after its start a process has no handler for the signal yet, and has done nothing.
        has_begun = code != -signal.SIGTERM or tail
        demand(code == 0 or not has_begun, f"at SIGTERM the operator ended with {code}:\n{tail}")
        self._again(number)

    def restart_second_api_server(self) -> None:
        """
        End the second API server with SIGKILL, and start another one.
        """
        assert self._second is not None
        gone, self._second = self._second, None
        self.plane.end_at_once(gone[0])
        self._second = self.plane.start_second_api_server()

    def save_etcd(self) -> Path:
        """
        Copy etcd's data while it is down; nobody may write meanwhile.
        """
        self.plane.end_etcd()
        saved = self.plane.folder / "saved"
        shutil.copytree(self.plane.folder / "etcd", saved)
        self.plane.start_etcd_again()
        return saved

    def restore_etcd(self, saved: Path) -> None:
        """
        Put etcd's data back, and start the API servers anew, as after a disaster.
        """
        self.plane.end_etcd()
        shutil.rmtree(self.plane.folder / "etcd")
        shutil.copytree(saved, self.plane.folder / "etcd")
        self.plane.start_etcd_again()
        self.plane.restart_api_server()
        self.restart_second_api_server()

    def _port(self) -> int | None:
        urls = [self.plane.url] if self._second is None else [self.plane.url, self._second[1].url]
        return int(self._chance.choice(urls).rpartition(":")[2])

    def _again(self, number: int) -> None:
        self.replicas[number].restart(**SETTINGS)
        self._note(number)
        time.sleep(0.2)

    def _note(self, number: int) -> None:
        pids = self.pids.setdefault(self._credentials[number], set())
        pids.add(self.replicas[number].child.pid)
