"""
Runs on a definition whose objects the server prunes.
"""

from espalier.crd import Definition
from espalier.engine import Ports, RunOutcome, RunSettings, run
from espalier.engine.ports.reporter import Reporter
from tests.fakes.cluster import FakeCluster
from tests.fakes.widgets import widgets

SETTINGS = RunSettings(settle_seconds=30, page_size=4, max_in_flight=4)


def a_cluster(objects: int = 10, definition: Definition | None = None) -> FakeCluster:
    cluster = FakeCluster(definition or widgets())
    cluster.fill(objects)
    return cluster


async def run_on(cluster: FakeCluster, settings: RunSettings = SETTINGS) -> RunOutcome:
    ports: Ports = cluster.ports
    reporter: Reporter = cluster
    assert cluster.definition is not None
    return await run(cluster.definition, ports, settings, reporter)


def all_are_current(cluster: FakeCluster) -> bool:
    return all(
        stored.raw["apiVersion"] == "example.com/v1"
        and stored.raw["spec"] == {"size": int(key.name[1:]), "color": "red"}
        for key, stored in cluster.etcd.items()
    )


def stored_versions(cluster: FakeCluster) -> tuple[str, ...]:
    assert cluster.definition is not None
    return cluster.definition.stored_versions
