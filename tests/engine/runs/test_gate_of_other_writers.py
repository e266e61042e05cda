"""
What restores and cleans up passes the same gate as a rewrite: it would prune hidden fields too.
"""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from espalier.engine import RunSettings, gate_alone, restore
from espalier.engine.ports.archive import ArchiveEntry
from espalier.engine.ports.records import metadata_of, resource_of
from espalier.engine.runs.uninstall import ObjectTrace, TraceRemover
from espalier.errors import RejectedError
from espalier.paths import JSON
from tests.engine.runs.test_loss_guard import WITHOUT_COLOR
from tests.fakes.cluster import FakeCluster
from tests.fakes.widgets import written_by

HIDDEN: dict[str, JSON] = {"size": 1, "color": "blue"}


def a_cluster() -> FakeCluster:
    """
    Make a cluster with an object that has a field which no schema specifies any more.
    """
    cluster = FakeCluster(replace(WITHOUT_COLOR, generation=2))
    key = cluster.put("a", {"spec": HIDDEN}, version="v1")
    cluster.etcd[key].managed_fields = [written_by("kubectl", {"f:spec": {"f:color": {}}})]
    return cluster


async def entries_of(*entries: ArchiveEntry) -> AsyncIterator[ArchiveEntry]:
    for entry in entries:
        yield entry


async def test_a_restore_leaves_an_object_alone_that_would_lose_something() -> None:
    cluster = a_cluster()
    assert cluster.definition is not None
    gate = await gate_alone(cluster.definition, cluster, cluster.ports.record, RunSettings())
    (key,) = cluster.etcd
    entry = ArchiveEntry(
        api_version="example.com/v1",
        kind="Widget",
        key=key,
        uid="uid-a",
        resource_version="1",
        patch=({"op": "add", "path": "/status", "value": {"ready": True}},),
    )
    report = await restore(cluster.definition, entries_of(entry), cluster, cluster.clock, gate)
    (refused,) = report.refused
    assert "would or might remove more: .spec.color at v1" in refused.reason
    assert cluster.raw("a")["spec"] == HIDDEN
    assert cluster.count("replace", "replace/status") == 0


async def test_a_clean_up_leaves_an_object_alone_that_would_lose_something() -> None:
    cluster = a_cluster()
    assert cluster.definition is not None
    (key,) = cluster.etcd
    cluster.etcd[key].annotations["espalier.dev/schema-violations"] = "{}"
    resource = resource_of(cluster.definition, cluster.definition.storage)
    seen = metadata_of(await cluster.get_object(resource, key))
    remover = TraceRemover(cluster, cluster, cluster, cluster.clock)  # type: ignore[arg-type]
    trace = ObjectTrace(definition=cluster.definition, resource=resource, seen=seen)
    with pytest.raises(RejectedError, match=r"\.spec\.color at v1") as refused:
        await remover.remove(trace)
    assert refused.value.reason == "WouldLoseData"
    assert cluster.raw("a")["spec"] == HIDDEN
    assert cluster.count("annotate") == 0
