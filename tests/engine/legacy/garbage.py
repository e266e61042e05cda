"""
Objects with fields that no schema specifies, and runs on them.
"""

from espalier.crd import Definition
from espalier.engine import RunOutcome, RunSettings, run
from espalier.paths import JSON
from tests.fakes.cluster import FakeCluster
from tests.fakes.widgets import legacy_widgets

SETTINGS = RunSettings(settle_seconds=0, page_size=2, max_in_flight=4)


GARBAGE: dict[str, JSON] = {
    "spec": {"size": 1, "junk": {"a": [1]}, "ports": [{"port": 1, "proto": "TCP"}, {"port": 2}]},
    "status": {"ready": True, "old": "x"},
    "stray": 1,
}


CLEAN: dict[str, JSON] = {
    "spec": {"size": 1, "ports": [{"port": 1}, {"port": 2}]},
    "status": {"ready": True},
}


async def run_on(cluster: FakeCluster) -> RunOutcome:
    assert cluster.definition is not None
    return await run(cluster.definition, cluster.ports, SETTINGS, cluster)


def a_cluster(objects: int = 5, definition: Definition | None = None) -> FakeCluster:
    cluster = FakeCluster(definition or legacy_widgets())
    for number in range(objects):
        cluster.put(f"w{number}", GARBAGE, version="v1")
    return cluster


def content(cluster: FakeCluster, name: str) -> dict[str, JSON]:
    return {k: v for k, v in cluster.raw(name).items() if k not in ("apiVersion", "kind")}
