"""
Lists of a real kube-apiserver: past objects that it cannot read, and from tokens that it refuses.
"""

import base64
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any

import pytest

from espalier.cluster import Cluster, connect
from espalier.cluster.clock import SystemClock
from espalier.engine import Scope, survey
from espalier.engine.listing.pages import Listing, pages
from espalier.engine.ports.objects import Objects
from espalier.engine.ports.records import resource_of
from espalier.errors import UndecodableError
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import Crd, schema, version

pytestmark = pytest.mark.e2e

NAMESPACES = ("alpha", "alpha-2", "zeta")
NAMES = ("first", "second", "second-2", "third")
BROKEN = b'{"apiVersion": "lists.example.com/v1", "kind": "'


@pytest.fixture
async def cluster(control_plane: ControlPlane) -> AsyncIterator[Cluster]:
    async with connect(control_plane.kubeconfig) as connected:
        yield connected


@pytest.fixture
def cogs(control_plane: ControlPlane) -> Iterator[Crd]:
    crd = Crd(control_plane, "cogs", "lists.example.com")
    crd.create([version("v1", schema({"size": {"type": "integer"}}))], storage="v1")
    for namespace in NAMESPACES:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        if control_plane.api.find(f"/api/v1/namespaces/{namespace}") is None:
            control_plane.api.post("/api/v1/namespaces", body)
        there = crd.objects_path("v1").replace("/default/", f"/{namespace}/")
        for name in NAMES:
            control_plane.api.post(there, crd.object("v1", name, spec={"size": 1}))
    yield crd
    crd.remove()


class Silent:
    """
    Names no objects that cannot be read, as older servers do.
    """

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def __getattr__(self, name: str) -> Any:
        return getattr(self._objects, name)

    async def list_metadata(self, *args: Any, **more: Any) -> Any:
        try:
            return await self._objects.list_metadata(*args, **more)
        except UndecodableError as error:
            error.keys = ()
            raise

    async def list_objects(self, *args: Any, **more: Any) -> Any:
        try:
            return await self._objects.list_objects(*args, **more)
        except UndecodableError as error:
            error.keys = ()
            raise


@pytest.mark.parametrize(
    "broken",
    [
        {"alpha-2/second", "zeta/third"},
        {"alpha/first", "alpha-2/first", "zeta/first"},
    ],
)
async def test_an_object_that_is_not_named_is_found_and_the_others_come(
    cluster: Cluster, cogs: Crd, control_plane: ControlPlane, broken: set[str]
) -> None:
    for key in broken:
        control_plane.raw_put(f"{cogs.raw_prefix}{key}", BROKEN)
    definition = await cluster.definitions.get_definition(cogs.name)
    objects: Any = Silent(cluster.objects)

    found = await survey(definition, objects, SystemClock(), Scope(page_size=5))

    assert found.objects == len(NAMESPACES) * len(NAMES) - len(broken)
    assert {name.partition(",")[0] for name in found.undecodable} == broken


@pytest.mark.parametrize(
    "content", [b"\0\0\0", {"v": "meta.k8s.io/v2", "rv": 5, "start": "a"}, {"v": "meta.k8s.io/v1"}]
)
async def test_a_token_that_the_server_does_not_take_begins_the_list_anew(
    cluster: Cluster, cogs: Crd, content: Any
) -> None:
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    token = base64.urlsafe_b64encode(text).decode().rstrip("=")
    definition = await cluster.definitions.get_definition(cogs.name)
    listing = Listing(
        fetch=cluster.objects.list_metadata,
        resource=resource_of(definition, definition.storage),
        page_size=5,
    )
    source = pages(listing, SystemClock(), start_token=token)
    async with aclosing(source):
        keys = [str(found.key) async for page, _ in source for found in page.objects]
    assert len(keys) == len(set(keys)) == len(NAMESPACES) * len(NAMES)
