"""
The adapter against a real kube-apiserver: that it takes what we send, and says what we expect.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from uuid import uuid4

import pytest

from espalier.cluster import Cluster, connect
from espalier.cluster.archives.fingerprints import MAX_ENTRIES
from espalier.crd import Condition, Definition
from espalier.engine import Ports, RunSettings, Stop, plan, read_policy
from espalier.engine.coordination.run_context import context_of
from espalier.engine.legacy.archive_pages import remove_pages
from espalier.engine.ports import Endpoint, ObjectKey, WatchEvent, WritePermit
from espalier.engine.ports.objects import Objects
from espalier.engine.ports.records import metadata_of
from espalier.engine.runs.permissions import check_rights
from espalier.errors import (
    ArchiveFullError,
    ClusterError,
    ConflictError,
    ExpiredTokenError,
    ForbiddenError,
    LeaseLostError,
    NotFoundError,
    RejectedError,
    RunStoppedError,
    UndecodableError,
)
from espalier.paths import JSON
from tests.cluster.scripted import entry
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import Crd, schema, version
from tests.fakes.cluster import FakeCluster
from tests.fakes.permits import permit_for
from tests.patience import PACE

pytestmark = pytest.mark.e2e

GONE = Endpoint(group="no.example.com", version="v1", plural="nothings", kind="N", namespaced=True)
NAMES = ["a", "b", "c", "d", "e"]


@pytest.fixture
async def cluster(control_plane: ControlPlane) -> AsyncIterator[Cluster]:
    async with connect(control_plane.kubeconfig) as connected:
        yield connected


@pytest.fixture
def gears(control_plane: ControlPlane) -> Iterator[Crd]:
    crd = Crd(control_plane, "gears", "adapter.example.com")
    openapi = schema({"size": {"type": "integer", "maximum": 100}})
    versions = [version("v1alpha1", openapi), version("v1", openapi, subresources={"status": {}})]
    crd.create(versions, storage="v1alpha1")
    crd.add("v1alpha1", *[crd.object("v1alpha1", name, spec={"size": 1}) for name in NAMES])
    crd.set_versions(versions, storage="v1")
    yield crd
    crd.remove()


def at(definition: Definition, name: str = "v1") -> Endpoint:
    return Endpoint(
        group=definition.group,
        version=name,
        plural=definition.plural,
        kind=definition.kind,
        namespaced=definition.namespaced,
    )


async def put(
    objects: Objects, resource: Endpoint, obj: dict[str, JSON], *, subresource: str | None
) -> dict[str, JSON]:
    return await objects.replace(resource, obj, permit_for(obj), subresource=subresource)


async def test_objects_are_listed_rewritten_and_replaced(cluster: Cluster, gears: Crd) -> None:
    objects = cluster.objects
    resource = at(await cluster.definitions.get_definition(gears.name))
    page = await objects.list_metadata(resource, page_size=2, continue_token=None)
    assert [found.key for found in page.objects] == [ObjectKey("default", n) for n in NAMES[:2]]
    assert page.remaining == 3
    assert all(found.managed_fields for found in page.objects)
    rest = await objects.list_objects(resource, page_size=9, continue_token=page.continue_token)
    assert [obj["spec"] for obj in rest.objects] == [{"size": 1}] * 3
    assert rest.continue_token is None

    first, second = page.objects
    tried = await objects.try_rewrite(
        resource, first.key, uid=first.uid, resource_version=first.resource_version
    )
    assert tried["spec"] == {"size": 1}
    assert gears.stored_at() == {"v1alpha1": 5}
    written = await objects.rewrite(
        resource, WritePermit(first.key, first.uid, first.resource_version)
    )
    again = await objects.rewrite(resource, WritePermit(first.key, first.uid, None))
    assert written.resource_version == again.resource_version != first.resource_version
    assert written.metadata is not None
    assert (written.metadata.uid, written.metadata.tags) == (first.uid, first.tags)
    assert (first.generation, written.metadata.generation) == (1, 1)
    assert gears.stored_at() == {"v1": 1, "v1alpha1": 4}

    obj = await objects.get_object(resource, second.key)
    replaced = await put(objects, resource, obj | {"spec": {"size": 2}}, subresource=None)
    assert replaced["spec"] == {"size": 2}
    stored = await put(objects, resource, replaced | {"status": {"size": 3}}, subresource="status")
    assert stored["spec"] == {"size": 2}


async def test_refusals_are_distinguished(cluster: Cluster, gears: Crd) -> None:
    objects = cluster.objects
    resource = at(await cluster.definitions.get_definition(gears.name))
    key = ObjectKey("default", "a")
    obj = await objects.get_object(resource, key)
    uid = gears.stored()["a"]["metadata"]["uid"]

    with pytest.raises(ConflictError):
        await objects.rewrite(resource, WritePermit(key, uid, "1"))
    with pytest.raises(NotFoundError):
        await objects.rewrite(resource, WritePermit(ObjectKey("default", "z"), uid, None))
    with pytest.raises(NotFoundError):
        await objects.list_metadata(GONE, page_size=1, continue_token=None)
    with pytest.raises(ClusterError) as refused:
        await objects.rewrite(resource, WritePermit(key, str(uuid4()), None))
    assert type(refused.value) in {ConflictError, RejectedError}
    with pytest.raises(RejectedError) as raised:
        await put(objects, resource, obj | {"spec": {"size": 4711}}, subresource=None)
    assert raised.value.status == 422
    assert "spec.size" in raised.value.detail
    assert "4711" not in f"{raised.value} {raised.value.causes}"
    with pytest.raises(ExpiredTokenError):
        await watched(cluster, resource, "1", count=1)


async def test_a_failed_test_of_a_patch_is_distinguished_from_an_invalid_object_by_its_causes(
    cluster: Cluster, gears: Crd
) -> None:
    objects = cluster.objects
    resource = at(await cluster.definitions.get_definition(gears.name))
    key = ObjectKey("default", "a")
    seen = metadata_of(await objects.get_object(resource, key))

    async def clean(resource_version: str) -> None:
        await objects.replace_managed_fields(
            resource, WritePermit(key, seen.uid, resource_version), managed_fields=()
        )

    with pytest.raises(RejectedError) as failed:
        await clean("1")
    assert (failed.value.status, failed.value.causes) == (422, ())
    obj = await objects.get_object(resource, key)
    with pytest.raises(RejectedError) as invalid:
        await put(objects, resource, obj | {"spec": {"size": 4711}}, subresource=None)
    assert invalid.value.causes
    await clean(seen.resource_version)
    assert metadata_of(await objects.get_object(resource, key)).managed_fields == ()


async def test_what_cannot_be_decoded_is_named_and_not_tried_again(
    cluster: Cluster, gears: Crd, control_plane: ControlPlane
) -> None:
    resource = at(await cluster.definitions.get_definition(gears.name))
    control_plane.raw_put(f"{gears.raw_prefix}default/b", b"{ no JSON")

    with pytest.raises(UndecodableError) as listed:
        await cluster.objects.list_metadata(resource, page_size=500, continue_token=None)
    with pytest.raises(UndecodableError) as got:
        await cluster.objects.get_object(resource, ObjectKey("default", "b"))

    expected = ("/adapter.example.com/gears/default/b",)
    assert (listed.value.keys, got.value.keys) == (expected, expected)


async def watched(
    cluster: Cluster, resource: Endpoint, resource_version: str, *, count: int
) -> list[WatchEvent]:
    events = cluster.objects.watch_objects(resource, resource_version=resource_version)
    found: list[WatchEvent] = []
    async with asyncio.timeout(PACE.scaled(20)):
        async for event in events:
            found.append(event)
            if len(found) == count:
                break
    return found


async def test_changes_are_watched(cluster: Cluster, gears: Crd) -> None:
    resource = at(await cluster.definitions.get_definition(gears.name))
    page = await cluster.objects.list_metadata(resource, page_size=9, continue_token=None)
    gears.plane.api.post(gears.objects_path("v1"), gears.object("v1", "new", spec={"size": 7}))

    (event,) = await watched(cluster, resource, page.resource_version, count=1)

    assert (event.type, event.object["spec"]) == ("ADDED", {"size": 7})
    assert int(event.resource_version) > int(page.resource_version)


async def test_stored_versions_and_conditions_are_written(cluster: Cluster, gears: Crd) -> None:
    definitions = cluster.definitions
    before = await definitions.get_definition(gears.name)
    assert before.stored_versions == ("v1alpha1", "v1")
    others = {found.type for found in before.conditions}
    ours = Condition(
        type="espalier.dev/StoredObjectsCurrent",
        status="True",
        reason="Proved",
        message="m",
        last_transition_time="2026-01-02T03:04:05Z",
    )

    await definitions.apply_conditions(before, [ours], field_manager="espalier")
    shown = await definitions.get_definition(gears.name)
    assert shown.condition(ours.type) == ours
    with pytest.raises(ConflictError):
        await definitions.set_stored_versions(before, ["v1"])
    after = await definitions.set_stored_versions(shown, ["v1"])
    assert after.stored_versions == ("v1",)
    await definitions.apply_conditions(after, [], field_manager="espalier")
    cleaned = await definitions.get_definition(gears.name)
    assert {found.type for found in cleaned.conditions} == others
    another = replace(after, uid=str(uuid4()))
    with pytest.raises(ClusterError):
        await definitions.apply_conditions(another, [ours], field_manager="espalier")

    assert gears.name in await definitions.definition_names()
    listed = [found.name async for found in definitions.list_definitions(page_size=1)]
    assert gears.name in listed
    await cluster.events.post_event(after, type_="Normal", reason="Tested", message="m")
    events = gears.plane.api.get("/api/v1/namespaces/default/events")["items"]
    assert [e["message"] for e in events if e["involvedObject"]["name"] == gears.name] == ["m"]


async def test_an_archive_of_very_many_entries_is_kept_once(cluster: Cluster, gears: Crd) -> None:
    definition = await cluster.definitions.get_definition(gears.name)
    entries = [entry(f"w{number}") for number in range(MAX_ENTRIES + 1)]
    name = await cluster.archive("default").store(definition, entries)

    again = cluster.archive("default")
    assert await again.store(definition, entries[::2]) == name

    pages = await again.pages(definition.name)
    assert [page.objects for page in pages] == [MAX_ENTRIES, 1]
    assert [found async for found in again.entries(definition)] == entries[::-1]
    await remove_pages(again, pages)
    assert await again.pages(definition.name) == ()


async def test_an_archive_counts_no_less_than_etcd_stores(
    cluster: Cluster, control_plane: ControlPlane, gears: Crd
) -> None:
    definition = await cluster.definitions.get_definition(gears.name)
    archive = cluster.archive("default")
    for number in range(4):
        await archive.store(definition, [entry(f"small{number}")])
    await archive.store(definition, [entry(f"many{number}", "x" * 300) for number in range(200)])
    pages = await archive.pages(definition.name)
    stored = [
        len(control_plane.raw_get(f"/registry/secrets/default/{name}") or b"")
        for page in pages
        for name in page.places
    ]
    counted = [page.size_bytes for page in pages]

    # Where Secrets are stored as protobuf, their data needs no base64.
    assert all(mine >= etcd for mine, etcd in zip(counted, stored, strict=True))
    assert sum(counted) < 2 * sum(stored), (counted, stored)
    await remove_pages(archive, pages)


async def test_documents_archives_and_leases_are_kept(cluster: Cluster, gears: Crd) -> None:
    definition = await cluster.definitions.get_definition(gears.name)
    checkpoints = cluster.checkpoints("default")
    await checkpoints.save(definition, {"pages": 1})
    await checkpoints.save(definition, {"pages": 2})
    assert await cluster.checkpoints("default").load(definition) == {"pages": 2}

    archive = cluster.archive("default")
    name = await archive.store(definition, [entry("a"), entry("b")])
    assert [found async for found in archive.entries(definition)] == [entry("b"), entry("a")]
    path = f"/api/v1/namespaces/default/secrets/{name.removeprefix('default/')}"
    assert gears.plane.api.get(path)["immutable"] is True
    with pytest.raises(ArchiveFullError):
        await cluster.archive("no-such-namespace").store(definition, [entry("a")])

    one, two = cluster.leases("default", "one"), cluster.leases("default", "two")
    await one.acquire(definition)
    await one.acquire(definition)
    with pytest.raises(LeaseLostError, match="one holds"):
        await two.acquire(definition)
    await one.release(definition)
    await two.acquire(definition)
    await two.release(definition)


async def test_missing_rights_are_known_beforehand(
    cluster: Cluster, gears: Crd, control_plane: ControlPlane
) -> None:
    resource = at(await cluster.definitions.get_definition(gears.name))
    control_plane.api.post(
        "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "adapter"}}
    )
    kubeconfig = control_plane.service_account_kubeconfig("default", "adapter")

    assert await cluster.rights.missing_verbs(resource, ["list", "update/status"]) == ()
    async with connect(kubeconfig) as account:
        missing = await account.rights.missing_verbs(resource, ["list", "update/status"])
        with pytest.raises(ForbiddenError):
            await account.objects.list_metadata(resource, page_size=1, continue_token=None)

    assert missing == ("list", "update/status")


async def test_the_command_of_the_message_grants_what_a_run_in_a_namespace_needs(
    gears: Crd, control_plane: ControlPlane
) -> None:
    for name in ("team-a", "team-b"):
        control_plane.api.post("/api/v1/namespaces", {"metadata": {"name": name}})
    control_plane.api.post(
        "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "espalier"}}
    )
    kubeconfig = control_plane.service_account_kubeconfig("default", "espalier")
    async with connect(control_plane.kubeconfig) as administrator:
        found = await administrator.definitions.get_definition(gears.name)
    asked = replace(
        found,
        labels={"espalier.dev/mode": "enforce"},
        annotations={"espalier.dev/namespaces": "team-a,team-b"},
    )
    planned = plan(asked, read_policy(asked))
    assert not isinstance(planned, Stop)

    async with connect(kubeconfig) as account:
        context = context_of(planned, ports_of(account), RunSettings(), FakeCluster(asked))
        with pytest.raises(RunStoppedError) as before:
            await check_rights(context)
        in_namespaces, _, rest = before.value.detail.partition("; done")
        assert "get, list, patch gears.adapter.example.com in 2 namespaces" in in_namespaces
        control_plane.shell(in_namespaces.partition("Grant it: ")[2] + "; done")
        with pytest.raises(RunStoppedError) as after:
            await check_rights(context)
        # What is left is what the manifests grant, and it was told before, too.
        assert after.value.detail == rest.removeprefix(". ")
        page = await account.objects.list_metadata(
            planned.resource, page_size=1, continue_token=None, namespace="team-b"
        )
        assert page.objects == ()


def ports_of(connected: Cluster) -> Ports:
    return Ports(
        objects=connected.objects,
        definitions=connected.definitions,
        rights=connected.rights,
        checkpoints=connected.checkpoints("default"),
        archive=connected.archive("default"),
        leases=connected.leases("default"),
        clock=connected.clock,
        namespace="default",
    )


async def test_the_resource_version_of_a_definition_is_read_alone(
    cluster: Cluster, gears: Crd
) -> None:
    found = await cluster.definitions.get_definition(gears.name)
    assert await cluster.definitions.get_resource_version(gears.name) == found.resource_version
    gears.label(mode="observe")
    assert await cluster.definitions.get_resource_version(gears.name) != found.resource_version
    with pytest.raises(NotFoundError) as gone:
        await cluster.definitions.get_resource_version("nothings.example.com")
    assert gone.value.is_object


async def test_the_servers_own_migrations_are_found_in_the_version_that_it_serves(
    cluster: Cluster, gears: Crd, control_plane: ControlPlane
) -> None:
    definition = await cluster.definitions.get_definition(gears.name)
    group = control_plane.api.get("/apis/storagemigration.k8s.io")
    version_served = group["preferredVersion"]["version"]
    control_plane.api.post(
        f"/apis/storagemigration.k8s.io/{version_served}/storageversionmigrations",
        {
            "metadata": {"name": "gears-by-the-server"},
            "spec": {"resource": {"group": gears.group, "resource": gears.plural}},
        },
    )
    assert await cluster.definitions.other_migrations(definition) == ("gears-by-the-server",)
    control_plane.api.call(
        "DELETE",
        f"/apis/storagemigration.k8s.io/{version_served}/storageversionmigrations"
        "/gears-by-the-server",
    )
    assert await cluster.definitions.other_migrations(definition) == ()
