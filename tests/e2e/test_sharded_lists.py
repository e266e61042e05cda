"""
Lists of the objects of a part: by API servers that choose them, and by servers that send all.
"""

from collections import defaultdict
from collections.abc import Iterator
from functools import partial

import pytest

from espalier.cluster import Connection, SystemClock, connect_to
from espalier.cluster.auth.credentials import FixedSource
from espalier.engine.listing.pages import Fetch
from espalier.engine.listing.shards import ShardedPages
from espalier.engine.ports import Endpoint, MetadataPage, Part, resource_of
from tests.e2e.conftest import MakeCrd
from tests.e2e.controlplane.api import Api
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import Crd, schema, version
from tests.e2e.older_servers import minor_of
from tests.e2e.operating import espalier
from tests.e2e.replicas import credential_of
from tests.e2e.writes import ACCOUNT, NAMESPACE

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

GATE = "ShardedListAndWatch"
FIRST_RELEASE = 37
OBJECTS, PAGE = 240, 40
PARTS = [Part(number, 3) for number in range(3)]
VERSIONS = [version(name, schema({"size": {"type": "integer"}})) for name in ("v1alpha1", "v1")]
WITH_THE_GATE, WITHOUT = "with the gate", "without"


@pytest.fixture(scope="module")
def servers(installed: ControlPlane) -> Iterator[dict[str, Api]]:
    """
    Two API servers on one etcd, of which one has the feature.
    """
    minor = minor_of(installed.api)
    if minor < FIRST_RELEASE:
        pytest.skip(f"Kubernetes 1.{minor} has no {GATE}: unset KUBEBUILDER_ASSETS")
    child, api = installed.start_second_api_server(f"--feature-gates={GATE}=true")
    yield {WITH_THE_GATE: api, WITHOUT: installed.api}
    installed.end(child)


@pytest.fixture
def slices(crd: MakeCrd, servers: dict[str, Api]) -> Crd:
    made = crd("slices")
    made.create(VERSIONS, storage="v1alpha1")
    objects = (made.object("v1alpha1", f"s{n:03}", spec={"size": n}) for n in range(OBJECTS))
    made.add("v1alpha1", *objects)
    made.set_versions(VERSIONS, storage="v1")
    for api in servers.values():
        made.wait_until_served("v1", api=api)
    return made


async def uids_of(fetch: Fetch[MetadataPage], resource: Endpoint) -> list[str]:
    """
    List all pages, and return the uids that come, sorted.
    """
    found: list[str] = []
    token: str | None = None
    while True:
        page = await fetch(resource, page_size=PAGE, continue_token=token)
        found += (one.uid for one in page.objects)
        token = page.continue_token
        if token is None:
            return sorted(found)


async def test_a_server_with_sharded_lists_sends_the_very_objects_that_the_client_keeps(
    slices: Crd, servers: dict[str, Api], installed: ControlPlane
) -> None:
    uids = sorted(obj["metadata"]["uid"] for obj in slices.stored().values())
    wanted = [sorted(filter(part.hashes.holds, uids)) for part in PARTS]
    assert all(wanted)
    source = FixedSource(f"Bearer {installed.token}")
    sent: dict[str, list[list[str]]] = defaultdict(list)
    worked_on: dict[str, list[list[str]]] = defaultdict(list)
    for name, api in servers.items():
        connection = Connection(
            server=api.url, tls=installed.ssl_context, credentials=source, origin="a test"
        )
        async with connect_to(connection, SystemClock()) as cluster:
            definition = await cluster.definitions.get_definition(slices.name)
            resource = resource_of(definition, definition.storage)
            for part in PARTS:
                fetch = partial(cluster.objects.list_metadata, shard=part.hashes)
                sent[name].append(await uids_of(fetch, resource))
                pages = ShardedPages(cluster.objects, part.hashes)
                worked_on[name].append(await uids_of(pages, resource))

    assert sent[WITH_THE_GATE] == wanted
    # Nothing in its answers shows that it has ignored the selector.
    assert sent[WITHOUT] == [uids] * len(PARTS)
    assert worked_on[WITH_THE_GATE] == worked_on[WITHOUT] == wanted


@pytest.mark.parametrize("server", [WITH_THE_GATE, WITHOUT])
def test_parts_rewrite_each_object_once_whether_or_not_the_server_shards_lists(
    slices: Crd, servers: dict[str, Api], installed: ControlPlane, server: str
) -> None:
    mark = installed.audit.mark()
    parts: dict[str, Part] = {}
    for part in PARTS:
        kubeconfig = installed.service_account_kubeconfig(
            NAMESPACE, ACCOUNT, suffix=f"-slice-{part.number}", url=servers[server].url
        )
        parts[credential_of(kubeconfig)] = part
        espalier(
            installed, "migrate", slices.name, "--yes", f"--part={part}", kubeconfig=kubeconfig
        )
    assert slices.stored_at() == {"v1": OBJECTS}
    assert slices.stored_versions() == ["v1alpha1", "v1"]
    espalier(installed, "migrate", slices.name, "--yes", "--finish", "--settle-seconds=0")
    assert slices.stored_versions() == ["v1"]

    by: dict[str, set[Part]] = defaultdict(set)
    lists: list[str] = []
    for request in installed.audit.requests(mark):
        if request.resource != slices.plural or request.credential not in parts:
            continue
        is_kept = request.verb == "patch" and "dryRun" not in request.path
        if is_kept and request.code == 200:
            by[request.name].add(parts[request.credential])
        elif request.verb == "list":
            lists.append(request.path)
    assert lists
    assert all("shardSelector" in path for path in lists if "limit=1&" not in path), lists
    assert {writes for _, writes in installed.etcd.writes(slices.raw_prefix)} == {2}
    assert by == {
        name: {part for part in PARTS if part.hashes.holds(obj["metadata"]["uid"])}
        for name, obj in slices.stored().items()
    }
