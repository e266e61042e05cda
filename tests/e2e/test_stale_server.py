"""
A second API server that does not know the new storage version yet and stores the old one.
"""

import asyncio
import http.client
import json
from collections.abc import Callable, Iterator

import pytest

from espalier.cluster import Connection, SystemClock, connect_to
from espalier.cluster.auth.credentials import FixedSource
from espalier.engine import Reason, RunSettings, run
from tests.e2e.conftest import MakeCrd, StartOperator
from tests.e2e.controlplane.api import Api
from tests.e2e.controlplane.processes import Child
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import Crd, schema, version
from tests.e2e.engine_runs import Reports, ports_of
from tests.e2e.relays import FreezableRelay, routing
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


@pytest.fixture
def relay(installed: ControlPlane) -> Iterator[FreezableRelay]:
    # An API server has a connection to etcd for each resource.
    made = FreezableRelay(installed.etcd.port, b"/customresourcedefinitions/")
    yield made
    made.close()


@pytest.fixture
def unaware(installed: ControlPlane, relay: FreezableRelay) -> Iterator[Api]:
    """
    An API server that learns nothing of definitions while the relay is frozen.
    """
    child, api = installed.start_second_api_server(etcd_url=relay.url)
    yield api
    installed.end_at_once(child)


@pytest.fixture
def twigs(crd: MakeCrd, unaware: Api) -> Crd:
    made = crd("twigs")
    made.create(VERSIONS, storage="v1alpha1")
    made.add("v1alpha1", *(made.object("v1alpha1", f"t{n}", spec={}) for n in range(20)))
    made.wait_until_served("v1", api=unaware)
    return made


@pytest.mark.timeout(300)
async def test_a_server_that_is_behind_beyond_the_settle_time_proves_nothing(
    twigs: Crd, installed: ControlPlane, relay: FreezableRelay, unaware: Api
) -> None:
    relay.freeze()
    twigs.set_versions(VERSIONS, storage="v1")
    twigs.label(mode="enforce")

    def chosen(path: str) -> Api:
        return unaware if path.startswith(f"/apis/{twigs.group}/") else installed.api

    reports = Reports()
    async with routing(chosen) as url:
        source = FixedSource(f"Bearer {installed.token}")
        connection = Connection(server=url, tls=None, credentials=source, origin="a test")
        async with connect_to(connection, SystemClock()) as cluster:
            definition = await cluster.definitions.get_definition(twigs.name)
            settings = RunSettings(settle_seconds=2)
            going = asyncio.create_task(run(definition, ports_of(cluster), settings, reports))
            seen = asyncio.create_task(reports.wait_for(Reason.SERVERS_BEHIND))
            await asyncio.wait({going, seen}, return_when=asyncio.FIRST_COMPLETED)
            assert twigs.stored_at() == {"v1alpha1": 20}
            assert twigs.stored_versions() == ["v1alpha1", "v1"]
            assert seen.done()

            relay.thaw()
            assert (await going).is_proved
    assert twigs.stored_at() == {"v1": 20}
    assert twigs.stored_versions() == ["v1"]
