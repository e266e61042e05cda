"""
A client that keeps writing through a version whose schema lacks a default of the storage version.
"""

import json
from collections.abc import Callable

import pytest

from espalier.cluster import Cluster, connect
from espalier.cluster.resources.objects import HttpObjects
from espalier.engine import Reason, RunOutcome, RunSettings, run
from espalier.engine.ports import Endpoint, HashRange, MetadataPage
from tests.e2e.conftest import MakeCrd
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import Crd, Document, schema, version
from tests.e2e.engine_runs import Reports, ports_of
from tests.e2e.older_servers import KEEPS_MANAGED_FIELDS_SINCE, minor_of

pytestmark = pytest.mark.e2e

SIZE = {"size": {"type": "integer"}}
VERSIONS = [
    version("v1alpha1", schema(SIZE)),
    version("v1", schema({**SIZE, "color": {"type": "string", "default": "red"}})),
]


class ContestedObjects(HttpObjects):
    """
    Has somebody else write an object before each list.
    """

    def __init__(self, cluster: Cluster, act: Callable[[], None]) -> None:
        super().__init__(cluster.client, cluster.client, cluster.lanes)
        self._act = act

    async def list_metadata(
        self,
        resource: Endpoint,
        *,
        page_size: int,
        continue_token: str | None,
        namespace: str = "",
        shard: HashRange | None = None,
    ) -> MetadataPage:
        self._act()
        return await super().list_metadata(
            resource,
            page_size=page_size,
            continue_token=continue_token,
            namespace=namespace,
            shard=shard,
        )


@pytest.fixture
def ferns(crd: MakeCrd, installed: ControlPlane) -> Crd:
    del installed
    made = crd("ferns")
    made.create(VERSIONS, storage="v1alpha1")
    made.add("v1alpha1", *(made.object("v1alpha1", f"f{n}", spec={"size": n}) for n in range(20)))
    made.set_versions(VERSIONS, storage="v1")
    made.label(mode="enforce")
    return made


async def contested(ferns: Crd, act: Callable[[], None]) -> RunOutcome:
    async with connect(ferns.plane.kubeconfig) as cluster:
        definition = await cluster.definitions.get_definition(ferns.name)
        ports = ports_of(cluster, objects=ContestedObjects(cluster, act))
        return await run(definition, ports, RunSettings(settle_seconds=2), Reports())


async def test_an_old_client_does_not_hold_the_trim(ferns: Crd) -> None:
    numbers = iter(range(100, 1000))
    contents: list[Document] = []

    def write() -> None:
        path = f"{ferns.objects_path('v1alpha1')}/f3"
        ferns.plane.api.merge(path, {"spec": {"size": next(numbers)}})
        contents.append(ferns.stored()["f3"])

    outcome = await contested(ferns, write)
    # The server has stored what the client wrote at the storage version, without its default.
    assert contents[-1]["apiVersion"] == f"{ferns.group}/v1"
    assert set(contents[-1]["spec"]) == {"size"}
    if minor_of(ferns.plane.api) < KEEPS_MANAGED_FIELDS_SINCE:
        # The client's second write has cost the object its managedFields.
        assert outcome.reason == Reason.WOULD_LOSE_DATA
        assert "have no managedFields (1 object). They are: default/f3." in str(outcome.conditions)
        assert ferns.stored_versions() == ["v1alpha1", "v1"]
        return
    assert outcome.reason == Reason.NOT_NORMAL
    assert ferns.stored_versions() == ["v1"]
    assert ferns.stored_at() == {"v1": 20}
    message = outcome.conditions[0].message
    assert "1 object of 20 out of normal form (default/f3)" in message
    assert '"espalier-tests" (v1alpha1)' in message


async def test_the_same_bytes_at_the_old_version_hold_it(ferns: Crd) -> None:
    key = f"{ferns.raw_prefix}default/f3"

    def write_as_a_stale_server_does() -> None:
        obj = ferns.stored()["f3"]
        obj["apiVersion"] = f"{ferns.group}/v1alpha1"
        obj["spec"].pop("color", None)
        ferns.plane.raw_put(key, json.dumps(obj).encode())

    outcome = await contested(ferns, write_as_a_stale_server_does)
    keeps = minor_of(ferns.plane.api) >= KEEPS_MANAGED_FIELDS_SINCE
    assert outcome.reason == (Reason.FAILED if keeps else Reason.WOULD_LOSE_DATA)
    assert ferns.stored_versions() == ["v1alpha1", "v1"]
