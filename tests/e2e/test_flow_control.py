"""
The component ``flow-control``: the operator's requests have a priority level of their own.
"""

import http.client
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import MakeCrd
from tests.e2e.controlplane.api import Api
from tests.e2e.controlplane.auditing import Request
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import schema, version
from tests.e2e.installing import account_api, apply, token_of
from tests.e2e.operating import Operator
from tests.e2e.waiting import eventually
from tests.e2e.writes import ACCOUNT, NAMESPACE

pytestmark = pytest.mark.e2e

VERSIONS = [version("v1alpha1", schema()), version("v1", schema())]
OBJECTS = 500
SCHEMAS = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
LEVELS = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"
LEVEL = "espalier"


@pytest.fixture(scope="module")
def levelled(installed: ControlPlane) -> Iterator[ControlPlane]:
    """
    The control plane with the component.
    """
    apply(installed, "flow-control")
    yield installed
    for path in (f"{SCHEMAS}/espalier-leases", f"{SCHEMAS}/espalier", f"{LEVELS}/espalier"):
        installed.api.delete(path)


class Seats(threading.Thread):
    """
    Reads the server's own metrics of the level until it is stopped.
    """

    def __init__(self, api: Api) -> None:
        super().__init__(daemon=True)
        self._api = api
        self._ended = threading.Event()
        self.executing: list[float] = []

    def run(self) -> None:
        while not self._ended.wait(0.02):
            self.executing.append(metric(self._api, "current_executing_seats"))

    def stop(self) -> list[float]:
        self._ended.set()
        self.join()
        return self.executing


def series(api: Api, name: str) -> list[tuple[dict[str, str], float]]:
    """
    Return the series of the level under one name, all from one answer: their labels and values.
    """
    connection = api.connect()
    try:
        connection.request("GET", "/metrics", headers=api.headers | {"Accept": "text/plain"})
        text = connection.getresponse().read().decode()
    finally:
        connection.close()
    lines = re.findall(rf"^apiserver_flowcontrol_{name}{{(.*)}} (\S+)$", text, re.MULTILINE)
    found = [
        (dict(re.findall(r'(\w+)="([^"]*)"', labels)), float(value)) for labels, value in lines
    ]
    return [(labels, value) for labels, value in found if labels["priority_level"] == LEVEL]


def metric(api: Api, name: str, **wanted: str) -> float:
    """
    Return the sum of the series of the level under one name.
    """
    return sum(value for labels, value in series(api, name) if wanted.items() <= labels.items())


def schema_of(api: Api, path: str) -> str:
    """
    Return the UID of the FlowSchema that a request by this client falls into.
    """
    connection = api.connect()
    try:
        connection.request("GET", path, headers=api.headers)
        response = connection.getresponse()
        response.read()
        assert response.status in {http.client.OK, http.client.NOT_FOUND}
        return response.headers["X-Kubernetes-PF-FlowSchema-UID"]
    finally:
        connection.close()


def uid_of(api: Api, name: str) -> str:
    return str(api.get(f"{SCHEMAS}/{name}")["metadata"]["uid"])


def test_the_requests_of_the_account_fall_into_the_schemas(
    levelled: ControlPlane, kubeconfig: Path
) -> None:
    account = account_api(levelled, kubeconfig)
    lease = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/absent"
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?limit=1"

    def used() -> None:
        assert schema_of(account, lease) == uid_of(levelled.api, "espalier-leases")
        assert schema_of(account, definitions) == uid_of(levelled.api, "espalier")
        assert schema_of(levelled.api, definitions) != uid_of(levelled.api, "espalier")

    eventually(used)
    leases = levelled.api.get(f"{SCHEMAS}/espalier-leases")
    assert leases["spec"]["priorityLevelConfiguration"]["name"] == "leader-election"


@pytest.fixture
def one_seat(levelled: ControlPlane) -> Iterator[Api]:
    """
    An API server with so few seats that one of them is the operator's.
    """
    levelled.api.merge(f"{LEVELS}/{LEVEL}", {"spec": {"limited": {"nominalConcurrencyShares": 1}}})
    child, api = levelled.start_second_api_server(
        "--max-requests-inflight=40", "--max-mutating-requests-inflight=40"
    )

    def limited() -> None:
        assert metric(api, "nominal_limit_seats") == 1

    eventually(limited)
    yield api
    levelled.end(child)


def messages(requests: list[Request], crd: str) -> list[str]:
    """
    Return the messages of the conditions that were applied to a definition.
    """
    return [
        condition["message"]
        for request in requests
        if request.resource == "customresourcedefinitions/status" and request.name == crd
        for condition in (request.body or {}).get("status", {}).get("conditions", [])
    ]


def check_leases(requests: list[Request], crd: str) -> None:
    """
    Check that leases were renewed, and none was in doubt or lost.
    """
    renewals = [r.code for r in requests if r.resource == "leases" and r.is_mutating]
    assert http.client.OK in renewals
    assert http.client.CONFLICT not in renewals
    reported = messages(requests, crd)
    assert reported
    # A run whose lease is in doubt stops, and reports that before it goes on.
    lost = re.compile("could not be renewed|holds the lease")
    assert [message for message in reported if lost.search(message)] == []


def test_with_one_seat_a_run_proves_and_loses_no_lease(
    levelled: ControlPlane, one_seat: Api, crd: MakeCrd, kubeconfig: Path
) -> None:
    api = one_seat
    through_it = levelled.write_kubeconfig(
        "one-seat", user={"token": token_of(kubeconfig)}, url=api.url
    )
    seats = crd("seats")
    seats.create(VERSIONS, storage="v1alpha1")
    objects = (seats.object("v1alpha1", f"s{n:03d}", spec={}) for n in range(OBJECTS))
    seats.add("v1alpha1", *objects)
    seats.set_versions(VERSIONS, storage="v1")
    seats.wait_until_served("v1", api=api)
    mark = levelled.audit.mark()
    operator = Operator(levelled, through_it)
    watching = Seats(api)
    watching.start()
    try:
        seats.label(mode="enforce")
        seats.wait_until_current(within_seconds=90)
    finally:
        executing = watching.stop()
        operator.stop()

    assert max(executing) == 1
    assert seats.stored_at() == {"v1": OBJECTS}
    assert metric(api, "dispatched_requests_total", flow_schema="espalier") > OBJECTS
    # None found the queues full. What the operator gave up when it was stopped is counted as
    # cancelled, late perhaps; and on a busy machine a request may wait for its time limit.
    rejections = [labels for labels, n in series(api, "rejected_requests_total") if n]
    assert {labels["reason"] for labels in rejections} <= {"cancelled", "time-out"}
    requests = [r for r in levelled.audit.requests(mark) if r.user.endswith(f":{ACCOUNT}")]
    check_leases(requests, seats.name)
