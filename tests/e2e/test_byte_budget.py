"""
The bytes that are written in some time: one budget for all runs of one process, and of two.
"""

from collections.abc import Sequence
from datetime import datetime
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.e2e.conftest import MakeCrd, StartOperator
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import Crd, schema, version
from tests.e2e.operating import is_ours
from tests.e2e.replicas import ReplicaProcess, plurals_in_buckets, wait_until_held

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

BYTES_PER_SECOND = 256 * 1024
OBJECT_BYTES, OBJECTS = 40_000, 12
MOST = 1.1
VERSIONS = [version(name, schema({"text": {"type": "string"}})) for name in ("v1alpha1", "v1")]


class Change(NamedTuple):
    """
    A write that changed an object in etcd.
    """

    received: datetime
    credential: str
    size_bytes: int


def filled(crd: Crd) -> Crd:
    """
    Create large objects, and change the storage version.
    """
    crd.create(VERSIONS, storage="v1alpha1")
    spec = {"text": "x" * OBJECT_BYTES}
    crd.add("v1alpha1", *(crd.object("v1alpha1", f"o{n:02}", spec=spec) for n in range(OBJECTS)))
    crd.set_versions(VERSIONS, storage="v1")
    return crd


def changes(plane: ControlPlane, crds: Sequence[Crd], mark: dict[Path, int]) -> list[Change]:
    """
    Return all changing writes: of each object the first one, as etcd shows.
    """
    found: dict[tuple[str, str], Change] = {}
    sizes = {(crd.plural, name): len(raw) for crd in crds for name, raw in crd.raw().items()}
    for request in sorted(plane.audit.requests(mark), key=lambda one: one.received):
        key = request.resource, request.name
        is_kept = request.verb == "patch" and request.code == 200 and "dryRun" not in request.path
        if is_ours(request) and is_kept and key in sizes:
            found.setdefault(key, Change(request.received, request.credential, sizes[key]))
    assert found.keys() == sizes.keys()
    for crd in crds:
        # Once when it was created, and once when it was rewritten.
        assert {count for _, count in plane.etcd.writes(crd.raw_prefix)} == {2}
    return list(found.values())


def label_all(crds: Sequence[Crd], mark: dict[Path, int]) -> datetime:
    """
    Have all of them migrated, and return the moment before the first write.
    """
    for crd in crds:
        crd.label(mode="enforce")
    names = {crd.name for crd in crds}
    return min(r.received for r in crds[0].plane.audit.requests(mark) if r.name in names)


def check_rate(found: Sequence[Change], since: datetime, *, processes: int = 1) -> None:
    """
    See that at no moment more had been written than the budget gives up to then.

    A write is received after it was sent, so that a slow server cannot make it seem more.

    Args:
        processes: How many wrote, each with a share of the budget and a first object at once.
    """
    totals = accumulate(change.size_bytes for change in found)
    for change, total in zip(found, totals, strict=True):
        seconds = (change.received - since).total_seconds()
        # The first object of each process needs not wait.
        free = processes * change.size_bytes
        assert total <= MOST * BYTES_PER_SECOND * seconds + free


def test_four_runs_of_a_process_keep_to_its_budget_together(
    crd: MakeCrd, control_plane: ControlPlane, start_operator: StartOperator
) -> None:
    crds = [filled(crd(f"loads{number}")) for number in range(4)]
    start_operator(max_bytes_per_second=BYTES_PER_SECOND)
    mark = control_plane.audit.mark()
    since = label_all(crds, mark)
    for each in crds:
        each.wait_until_current(within_seconds=90)

    check_rate(changes(control_plane, crds, mark), since)


def test_two_processes_with_a_bucket_each_keep_to_one_budget(
    crd: MakeCrd, installed: ControlPlane
) -> None:
    crds = [filled(crd(plural)) for plural in plurals_in_buckets("cargoes", 2, each=2)]
    replicas = [
        ReplicaProcess(installed, f"-{number}", buckets=2, max_bytes_per_second=BYTES_PER_SECOND)
        for number in range(2)
    ]
    try:
        wait_until_held(installed, "espalier-bucket-0-of-2", "espalier-bucket-1-of-2", parts=2)
        mark = installed.audit.mark()
        since = label_all(crds, mark)
        for each in crds:
            each.wait_until_current(within_seconds=90)
    finally:
        for replica in replicas:
            replica.operator.stop()

    found = changes(installed, crds, mark)
    assert len({change.credential for change in found}) == len(replicas)
    check_rate(found, since, processes=len(replicas))
