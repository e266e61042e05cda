"""
Another client's requests while objects are migrated: ``python -m benchmarks.neighbours``.

An operator migrates a definition on a real control plane, in turns without and with the component
``flow-control``. Meanwhile another service account reads one ConfigMap again and again, as a
controller would whose requests the server puts into the level ``workload-low`` too. Clients and
servers share the cores, so compare the columns with each other. The last line is one JSON object.
"""

import argparse
import json
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from tests.e2e.controlplane.api import Api
from tests.e2e.controlplane.assets import find_assets
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import Crd, schema, version
from tests.e2e.installing import account_api, apply, grant_objects
from tests.e2e.operating import Operator
from tests.e2e.test_flow_control import LEVEL, LEVELS, SCHEMAS
from tests.e2e.writes import ACCOUNT, NAMESPACE

GROUP = "bench.example.com"
VERSIONS = [version(name, schema({"payload": {"type": "string"}})) for name in ("v1", "v2")]
PAYLOAD_BYTES = 5 * 1024
PAUSE_SECONDS = 0.02
RUN_SECONDS = 300.0
CONFIG_MAP = "/api/v1/namespaces/default/configmaps/neighbour"
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"


class Seen(NamedTuple):
    """
    What came of one run.

    Attributes:
        seconds: How long the run took.
        answers_ms: How long each request of the other client took meanwhile.
    """

    seconds: float
    answers_ms: list[float]


class Neighbour(threading.Thread):
    """
    The other client: one request after another, with a short pause between them.
    """

    def __init__(self, api: Api) -> None:
        super().__init__(daemon=True)
        self._api = api
        self._ended = threading.Event()
        self._answers_ms: list[float] = []

    def run(self) -> None:
        """
        Read until it is stopped.
        """
        while not self._ended.wait(PAUSE_SECONDS):
            begun = time.perf_counter()
            self._api.get(CONFIG_MAP)
            self._answers_ms.append(1000 * (time.perf_counter() - begun))

    def stop(self) -> list[float]:
        """
        Stop it, and return how long each request took.
        """
        self._ended.set()
        self.join()
        return self._answers_ms


def main() -> None:
    """
    Measure; print a table for people and the figures as JSON.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.neighbours")
    parser.add_argument("--objects", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    figures: dict[str, float] = {}
    with _control_plane() as plane:
        crd = _filled(plane, given.objects)
        neighbour = _neighbour(plane)
        runs: dict[str, list[Seen]] = {"without": [], "with": []}
        for number in range(2 * given.rounds):
            name = "with" if number % 2 else "without"
            _install(plane, is_levelled=name == "with")
            runs[name].append(
                _migrate(plane, crd, neighbour, to=VERSIONS[(number + 1) % 2]["name"])
            )
    print(f"\n{'flow-control':14}{'run, s':>8}{'requests':>10}{'p50, ms':>9}{'p95, ms':>9}")
    for name, seen in runs.items():
        answers = [answer for one in seen for answer in one.answers_ms]
        cuts = statistics.quantiles(answers, n=100)
        seconds = statistics.median(one.seconds for one in seen)
        print(f"{name:14}{seconds:8.1f}{len(answers):10}{cuts[49]:9.1f}{cuts[94]:9.1f}")
        figures |= {
            f"p50_ms_{name}": cuts[49],
            f"p95_ms_{name}": cuts[94],
            f"seconds_{name}": seconds,
        }
    print(json.dumps({name: round(figure, 1) for name, figure in figures.items()}))


@contextmanager
def _control_plane() -> Iterator[ControlPlane]:
    plane = ControlPlane(find_assets())
    plane.start()
    try:
        apply(plane)
        yield plane
    finally:
        plane.stop()


def _filled(plane: ControlPlane, objects: int) -> Crd:
    crd = Crd(plane, "loads", GROUP)
    grant_objects(crd)
    crd.create(VERSIONS, storage="v1")
    spec = {"payload": "x" * PAYLOAD_BYTES}
    crd.add("v1", *(crd.object("v1", f"o{n:05}", spec=spec) for n in range(objects)))
    return crd


def _neighbour(plane: ControlPlane) -> Api:
    api, name = plane.api, {"name": "neighbour"}
    api.post("/api/v1/namespaces/default/serviceaccounts", {"metadata": name})
    api.post(CONFIG_MAP.rpartition("/")[0], {"metadata": name})
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}
    api.post(f"{RBAC}/roles", {"metadata": name, "rules": [rule]})
    subject = {"kind": "ServiceAccount", "namespace": "default", **name}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", **name}
    binding = {"metadata": name, "subjects": [subject], "roleRef": role}
    api.post(f"{RBAC}/rolebindings", binding)
    return account_api(plane, plane.service_account_kubeconfig("default", "neighbour"))


def _install(plane: ControlPlane, *, is_levelled: bool) -> None:
    if is_levelled:
        apply(plane, "flow-control")
        return
    for path in (f"{SCHEMAS}/espalier-leases", f"{SCHEMAS}/espalier", f"{LEVELS}/{LEVEL}"):
        plane.api.delete(path)


def _migrate(plane: ControlPlane, crd: Crd, neighbour: Api, *, to: str) -> Seen:
    crd.set_versions(VERSIONS, storage=to)
    kubeconfig = plane.service_account_kubeconfig(NAMESPACE, ACCOUNT)
    operator = Operator(plane, kubeconfig, settle_seconds=0)
    reading = Neighbour(neighbour)
    begun = time.perf_counter()
    crd.label(mode="enforce")
    reading.start()
    try:
        crd.wait_until_current(within_seconds=RUN_SECONDS)
        seconds = time.perf_counter() - begun
    finally:
        answers = reading.stop()
        operator.stop()
        crd.label(mode=None)
    return Seen(seconds, answers)


if __name__ == "__main__":
    main()
