"""
Runs on parts of a definition, and the last step.
"""

import uuid
from typing import TypeVar

from espalier.engine import RunOutcome, RunSettings, finish_parts, run, work_on_part
from espalier.engine.ports import Part
from tests.fakes.parts import PartsCluster
from tests.fakes.widgets import widgets

SETTINGS = RunSettings(settle_seconds=30, page_size=4, max_in_flight=2)


PartsClusterT = TypeVar("PartsClusterT", bound=PartsCluster)


def a_cluster(objects: int = 20, *, generation: int = 1) -> PartsCluster:
    return filled(PartsCluster(widgets(generation=generation)), objects)


def filled(cluster: PartsClusterT, objects: int) -> PartsClusterT:
    """
    Put objects into a cluster, in all parts of it.
    """
    for number in range(objects):
        name = f"w{number:03d}"
        # The hashes of texts that differ in their last character alone lie side by side.
        uid = str(uuid.uuid5(uuid.NAMESPACE_DNS, name))
        cluster.put(name, {"spec": {"size": number}}, uid=uid)
    return cluster


async def run_part(
    cluster: PartsCluster, number: int, count: int = 3, settings: RunSettings = SETTINGS
) -> RunOutcome:
    assert cluster.definition is not None
    work = work_on_part(Part(number, count), cluster.part_documents)
    return await run(cluster.definition, cluster.ports, settings, cluster, work)


async def finish(cluster: PartsCluster, settings: RunSettings = SETTINGS) -> RunOutcome:
    assert cluster.definition is not None
    return await finish_parts(
        cluster.definition,
        cluster.ports,
        settings,
        cluster,
        cluster.part_documents,
        lambda _: cluster,
    )


def rewritten(cluster: PartsCluster) -> list[str]:
    return [name for call, name in cluster.calls if call == "rewrite"]


def stored_versions(cluster: PartsCluster) -> tuple[str, ...]:
    assert cluster.definition is not None
    return cluster.definition.stored_versions


def names_in(cluster: PartsCluster, part: Part) -> list[str]:
    return sorted(key.name for key, stored in cluster.etcd.items() if part.hashes.holds(stored.uid))


def old_objects(cluster: PartsCluster) -> list[str]:
    return [
        key.name
        for key, stored in cluster.etcd.items()
        if stored.raw["apiVersion"] != "example.com/v1"
    ]
