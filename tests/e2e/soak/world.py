"""
The control plane of a soak: two API servers behind a relay, and replicas that reach only that.
"""

import random
import shutil
from pathlib import Path

from tests.e2e.chaos.demanding import demand, say
from tests.e2e.controlplane.api import Api
from tests.e2e.controlplane.assets import find_assets
from tests.e2e.controlplane.processes import Child
from tests.e2e.controlplane.running import Beginning, ControlPlane
from tests.e2e.operating import Operator
from tests.e2e.replicas import LEASE_SECONDS, credential_of
from tests.e2e.soak import clocks
from tests.e2e.soak.clocks import Clock
from tests.e2e.soak.disk import MIB, SmallDisk
from tests.e2e.soak.relay import CuttingRelay
from tests.e2e.writes import ACCOUNT, NAMESPACE

ROOT = Path(__file__).parents[3]
REPLICAS = 2
# JSON, so that Leases can be read in etcd.
FLAGS = ("--etcd-compaction-interval=0", "--storage-media-type=application/json")
DISK_BYTES = 2048 * MIB
"""Nothing is compacted, so that the history can be read at the end."""

SETTINGS = {
    "settle_seconds": 2,
    "page_size": 250,
    "resync_seconds": 5,
    "lease_seconds": LEASE_SECONDS,
    "progress_seconds": 1,
}


class Replica:
    """
    One operator, with a token of its own.

    Attributes:
        clock: Its wall clock; None if clocks cannot be stepped here.
        credential: What the audit log calls its token.
        is_down: Whether a fault has ended it and will start it again.
    """

    def __init__(self, plane: ControlPlane, number: int, *, url: str, library: Path | None) -> None:
        kubeconfig = plane.service_account_kubeconfig(
            NAMESPACE, ACCOUNT, suffix=f"-{number}", url=url
        )
        self.clock = Clock(library, plane.folder / f"clock-{number}") if library else None
        environment = self.clock.environment if self.clock else {}
        self.operator = Operator(plane, kubeconfig, environment, **SETTINGS)
        self.credential = credential_of(kubeconfig)
        self.is_down = False

    @property
    def child(self) -> Child:
        """
        Its present process.
        """
        return self.operator.child

    def demand_alive(self) -> None:
        """
        Demand that it has not ended by itself.
        """
        code = self.child.exit_code
        if not self.is_down:
            tail = self.child.tail(40)
            demand(code is None, f"the operator ended by itself with {code}:\n{tail}")

    def start_again(self) -> None:
        """
        Start it after a fault has ended it.
        """
        self.operator.restart(**SETTINGS)
        self.is_down = False


class World:
    """
    What is broken, and what repairs it.

    Attributes:
        replicas: The operators.
        disk: That of etcd; None if no disk can be mounted here.
        library: What steps clocks; None if it cannot be built here.
    """

    def __init__(self, chance: random.Random, *, can_mount: bool) -> None:
        self._chance = chance
        self.plane = ControlPlane(find_assets(), is_durable=True, api_server_flags=FLAGS)
        self._second: tuple[Beginning, Api] | None = None
        self._ready_second_url = ""
        self.relay = CuttingRelay(self._port)
        self.replicas: list[Replica] = []
        self.library = clocks.build(self.plane.folder)
        self.disk: SmallDisk | None = None
        if can_mount:
            self.disk = SmallDisk(self.plane.folder / "disk", size_bytes=DISK_BYTES)
            self.plane.etcd_data = self.disk.folder / "etcd"

    def start(self) -> None:
        """
        Start the servers, and install the operator's manifests.
        """
        if self.library is None:
            say("no clock is stepped: that needs Linux and a C compiler")
        if self.disk is None:
            say("no disk is filled: that needs unshare, and root or user namespaces")
        self.plane.start()
        child, api = self.plane.start_second_api_server()
        self._second = Beginning(child, lambda: True), api
        self._ready_second_url = api.url
        self.plane.kubectl("apply", "-k", str(ROOT / "manifests"))

    def start_replicas(self) -> None:
        """
        Start the replicas.
        """
        for number in range(REPLICAS):
            self.replicas.append(
                Replica(self.plane, number, url=self.relay.url, library=self.library)
            )

    def stop(self) -> None:
        """
        End everything.
        """
        self.relay.close()
        if self.disk is not None:
            self.disk.unmount()
        self.plane.stop()

    def demand_alive(self) -> None:
        """
        Demand that no replica has ended by itself.
        """
        for one in self.replicas:
            one.demand_alive()

    def end_second_api_server(self) -> None:
        """
        End the second API server with SIGKILL; the relay does not choose it any more.
        """
        assert self._second is not None
        self._ready_second_url = ""
        self.plane.end_at_once(self._second[0].child)
        self._second = None

    def begin_second_api_server(self) -> Beginning:
        """
        Start another second API server, without waiting for it.
        """
        self._second = self.plane.begin_second_api_server()
        return self._second[0]

    def admit_second_api_server(self) -> None:
        """
        Let the relay choose the second API server, which is ready.
        """
        assert self._second is not None
        self._ready_second_url = self._second[1].url

    def save_etcd(self) -> Path:
        """
        Copy etcd's data while it is down; nobody may write meanwhile.
        """
        self.plane.end_etcd()
        saved = self.plane.folder / "saved"
        shutil.copytree(self.plane.etcd_data, saved)
        self.plane.start_etcd_again()
        return saved

    def restore_etcd(self, saved: Path) -> None:
        """
        Put etcd's data back, and start the API servers anew, as after a disaster.
        """
        self.plane.end_etcd()
        shutil.rmtree(self.plane.etcd_data)
        shutil.copytree(saved, self.plane.etcd_data)
        self.plane.start_etcd_again()
        self.end_second_api_server()
        self.plane.restart_api_server()
        child, api = self.plane.start_second_api_server()
        self._second = Beginning(child, lambda: True), api
        self._ready_second_url = api.url

    def _port(self) -> int | None:
        urls = [url for url in (self.plane.url, self._ready_second_url) if url]
        return int(self._chance.choice(urls).rpartition(":")[2])
