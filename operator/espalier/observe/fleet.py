"""
Brings the records of several clusters together.
"""

from collections.abc import Mapping
from dataclasses import replace

from espalier import __version__
from espalier.observe.state import ClusterState, DefinitionState, Snapshot


def merge_snapshots(
    found: Mapping[str, Snapshot], failures: Mapping[str, str], *, taken_at: str
) -> Snapshot:
    """
    Make one record of those of several clusters, by the names of the clusters.

    A record that is of several clusters already keeps their names.

    Args:
        failures: Why there is no record of a cluster.
        taken_at: When they were brought together.
    """
    clusters: list[ClusterState] = []
    definitions: list[DefinitionState] = []
    for name, snapshot in found.items():
        clusters += snapshot.clusters or (_state_of(name, snapshot),)
        definitions += (
            one if one.cluster else replace(one, cluster=name) for one in snapshot.definitions
        )
    clusters += (ClusterState(name=name, failure=text) for name, text in failures.items())
    return Snapshot(
        taken_at=taken_at,
        version=__version__,
        definitions=tuple(sorted(definitions, key=lambda one: (one.cluster, one.name))),
        clusters=tuple(sorted(clusters, key=lambda one: one.name)),
        left_out=sum(snapshot.left_out for snapshot in found.values()),
    )


def _state_of(name: str, snapshot: Snapshot) -> ClusterState:
    return ClusterState(
        name=name,
        taken_at=snapshot.taken_at,
        version=snapshot.version,
        left_out=snapshot.left_out,
        is_read_only=snapshot.is_read_only,
    )
