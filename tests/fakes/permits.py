"""
Permits for tests of what takes one; in the product only the gate makes them.
"""

from espalier.engine.coordination.definition_guard import DefinitionGuard
from espalier.engine.coordination.write_gate import WriteGate
from espalier.engine.ports import WritePermit
from espalier.engine.ports.records import metadata_of
from espalier.paths import JSON
from tests.fakes.cluster import FakeCluster


def permit_for(obj: dict[str, JSON]) -> WritePermit:
    """
    Permit the write of an object in the state that it is in.
    """
    seen = metadata_of(obj)
    return WritePermit(seen.key, seen.uid, seen.resource_version)


def gate_of(cluster: FakeCluster) -> WriteGate:
    """
    Make the gate for objects that the server does not prune.
    """
    assert cluster.definition is not None
    gate = WriteGate(DefinitionGuard(cluster, cluster.clock, cluster.definition))
    gate.open(None)
    return gate
