"""
A second API server that does not know the new storage version yet and stores the old one.
"""

import http.client
import json
from collections.abc import Callable, Iterator

import pytest

from tests.e2e.conftest import MakeCrd, StartOperator
from tests.e2e.controlplane.api import Api
from tests.e2e.controlplane.processes import Child
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import Crd, schema, version
from tests.e2e.waiting import eventually
from tests.patience import PACE

pytestmark = pytest.mark.e2e

VERSIONS = [version("v1alpha1", schema()), version("v1", schema())]
LATE = 40
SETTLE_SECONDS, FIRST_PASS_SECONDS = 10.0, 8.0

Connect = Callable[[Crd, Api, int], list[http.client.HTTPSConnection]]


@pytest.fixture
def second(installed: ControlPlane) -> Iterator[tuple[Child, Api]]:
    child, api = installed.start_second_api_server()
    yield child, api
    installed.end(child)


@pytest.fixture
def connect() -> Iterator[Connect]:
    """
    Open connections and make one request on each, so that a paused server has accepted them.
    """
    connections: list[http.client.HTTPSConnection] = []

    def open_some(crd: Crd, api: Api, count: int) -> list[http.client.HTTPSConnection]:
        for _ in range(count):
            connections.append(api.connect())
            connections[-1].request("GET", crd.objects_path("v1"), headers=api.headers)
            connections[-1].getresponse().read()
        return connections

    yield open_some
    for connection in connections:
        connection.close()


def post(crd: Crd, api: Api, connections: list[http.client.HTTPSConnection]) -> None:
    """
    Send a create on each connection, without waiting for the response.
    """
    headers = api.headers | {"Content-Type": "application/json"}
    for number, connection in enumerate(connections):
        body = json.dumps(crd.object("v1", f"late{number}", spec={}))
        connection.request("POST", crd.objects_path("v1"), body, headers)


def statuses(connections: list[http.client.HTTPSConnection]) -> list[int]:
    """
    Wait for the responses, and return their statuses.
    """
    found = []
    for connection in connections:
        with connection.getresponse() as response:
            found.append(response.status)
    return found


def test_nothing_is_trimmed_while_a_stale_server_stores_the_old_version(
    crd: MakeCrd, second: tuple[Child, Api], connect: Connect, start_operator: StartOperator
) -> None:
    stale, stale_api = second
    leaves = crd("leaves")
    leaves.create(VERSIONS, storage="v1alpha1")
    leaves.add("v1alpha1", *(leaves.object("v1alpha1", f"early{n}", spec={}) for n in range(20)))
    leaves.wait_until_served("v1", api=stale_api)
    connections = connect(leaves, stale_api, LATE)
    start_operator(settle_seconds=PACE.scaled(SETTLE_SECONDS))

    stale.pause()
    leaves.set_versions(VERSIONS, storage="v1")
    leaves.label(mode="enforce")

    def first_pass_is_done() -> None:
        assert leaves.stored_at() == {"v1": 20}

    eventually(first_pass_is_done, within_seconds=FIRST_PASS_SECONDS)
    post(leaves, stale_api, connections)
    assert leaves.stored_versions() == ["v1alpha1", "v1"]
    stale.resume()

    assert statuses(connections) == [http.client.CREATED] * LATE
    # Otherwise this server was not stale, and the test shows nothing.
    assert leaves.stored_at().get("v1alpha1", 0) > 0

    def trimmed() -> None:
        versions = leaves.stored_versions()  # read first: no object may be old after a trim
        stored_at = leaves.stored_at()
        if "v1alpha1" not in versions and stored_at != {"v1": 20 + LATE}:
            pytest.fail(f"storedVersions {versions}, but objects are stored at {stored_at}")
        assert versions == ["v1"]

    eventually(trimmed, within_seconds=60)
    leaves.wait_until_current()
