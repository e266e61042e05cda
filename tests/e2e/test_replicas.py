"""
Replicas of the operator: who works, and who writes nothing, by the API server's audit log.
"""

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from espalier.engine.ports.state import Bucket
from tests.e2e.conftest import MakeCrd
from tests.e2e.controlplane.auditing import MUTATING
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import CURRENT, Crd, schema, version
from tests.e2e.relays import FreezableRelay
from tests.e2e.replicas import (
    LEASE_SECONDS,
    ReplicaProcess,
    plurals_in_buckets,
    times,
    wait_until_held,
)
from tests.e2e.sizes import sized
from tests.e2e.waiting import eventually, throughout

pytestmark = pytest.mark.e2e

COUNT = 300
SIZE = {"size": {"type": "integer"}}
VERSIONS = [version("v1alpha1", schema(SIZE)), version("v1", schema(SIZE))]
LEADER = Bucket(0, 1).name
# How long a replica is gone after another one has begun to work.
GONE_SECONDS = sized(1, large=60)
# Otherwise a fast machine finishes before anything can be broken.
PACED = {"max_writes_per_second": 40, "page_size": 100}

StartReplica = Callable[..., ReplicaProcess]


@pytest.fixture
def start_replica(installed: ControlPlane) -> Iterator[StartReplica]:
    """
    A function that starts one more replica.
    """
    started: list[ReplicaProcess] = []

    def start(**settings: object) -> ReplicaProcess:
        url = str(settings.pop("url", ""))
        suffix = f"-{len(started)}"
        started.append(ReplicaProcess(installed, suffix, url=url, **settings))
        return started[-1]

    yield start
    for replica in started:
        if replica.operator.child.exit_code is None:
            replica.operator.stop()


def flipped(crd: Crd, count: int = COUNT) -> None:
    crd.create(VERSIONS, storage="v1alpha1")
    crd.add(
        "v1alpha1", *(crd.object("v1alpha1", f"o{n:04}", spec={"size": n}) for n in range(count))
    )
    crd.set_versions(VERSIONS, storage="v1")


def test_each_definition_is_surveyed_written_and_reported_by_one_replica_alone(
    crd: MakeCrd, control_plane: ControlPlane, start_replica: StartReplica
) -> None:
    crds = [crd(plural) for plural in plurals_in_buckets("shares", 6)]
    for each in crds:
        flipped(each, 5)
    replicas = [start_replica(buckets=6) for _ in range(3)]
    wait_until_held(control_plane, *(Bucket(n, 6).name for n in range(6)), parts=3)
    mark = control_plane.audit.mark()

    for number, each in enumerate(crds):
        each.label(mode="enforce" if number % 2 else "observe")
    for number, each in enumerate(crds):
        if number % 2:
            each.wait_until_current(within_seconds=60)
        else:
            each.wait_for(CURRENT, "False", "Observed", within_seconds=60)

    workers = []
    for each in crds:
        lists = {r for r in replicas for q in r.requests(mark) if q.resource == each.plural}
        writers = {r for r in replicas if r.writes(each, mark)}
        assert len(lists) == 1
        assert writers == lists
        workers += [*lists]
    assert [workers.count(replica) for replica in replicas] == [2, 2, 2]


def test_after_a_kill_another_goes_on_when_the_lease_ran_out_and_after_a_stop_at_once(
    crd: MakeCrd, control_plane: ControlPlane, start_replica: StartReplica
) -> None:
    barrels = crd("barrels")
    flipped(barrels)
    mark = control_plane.audit.mark()
    first = start_replica(**PACED)
    wait_until_held(control_plane, LEADER)
    others = [start_replica(**PACED) for _ in range(2)]
    for each in others:
        eventually(partial(has_asked, each, mark))

    barrels.label(mode="enforce")
    first.wait_for_writes(barrels, mark, count=20)
    first.operator.kill()
    second = wait_for_a_writer(others, barrels, mark)
    (third,) = {*others} - {second}
    assert second.operator.stop() == 0
    barrels.wait_until_current(within_seconds=90)

    assert barrels.stored_versions() == ["v1"]
    assert barrels.stored_at() == {"v1": COUNT}
    last_renewal = times(first.takes(LEADER, mark))[-1]
    begun = times(second.takes(LEADER, mark))[0]
    assert begun >= last_renewal + timedelta(seconds=LEASE_SECONDS)
    assert times(second.writes(barrels, mark))[0] > begun
    assert times(first.writes(barrels, mark))[-1] < begun
    # The second one gave its lease back after its last write, and the third one took it then.
    given_back, taken = times(second.takes(LEADER, mark))[-1], times(third.takes(LEADER, mark))[0]
    assert times(second.writes(barrels, mark))[-1] < given_back < taken
    assert times(third.writes(barrels, mark))[0] > taken


def wait_for_a_writer(
    replicas: list[ReplicaProcess], crd: Crd, mark: dict[Path, int]
) -> ReplicaProcess:
    """
    Wait until one of some replicas has written objects.
    """

    def has_written() -> ReplicaProcess:
        writers = [one for one in replicas if len(one.writes(crd, mark)) > 20]
        assert writers, [one.operator.child.tail() for one in replicas]
        return writers[0]

    return eventually(has_written, within_seconds=60)


def check_stored(crd: Crd) -> None:
    """
    Check that all objects are stored at the storage version.
    """
    assert crd.stored_at() == {"v1": COUNT}


def has_asked(replica: ReplicaProcess, mark: dict[Path, int]) -> None:
    """
    Check that a replica has asked for a Lease.
    """
    assert any(r.resource == "leases" for r in replica.requests(mark)), (
        replica.operator.child.tail()
    )


def check_silent(replica: ReplicaProcess, mark: dict[Path, int]) -> None:
    """
    Check that a replica has tried no write.
    """
    assert [r for r in replica.requests(mark) if r.verb in MUTATING] == []


@pytest.mark.parametrize("is_stopped", [True, False], ids=["stopped", "cut off"])
def test_one_that_comes_back_writes_nothing_after_the_hand_over(
    crd: MakeCrd, control_plane: ControlPlane, start_replica: StartReplica, *, is_stopped: bool
) -> None:
    casks = crd("casks")
    flipped(casks)
    relay = FreezableRelay(urlsplit(control_plane.url).port or 443, b"")
    mark = control_plane.audit.mark()
    first = start_replica(url=relay.url.replace("http://", "https://"), **PACED)
    wait_until_held(control_plane, LEADER)
    second = start_replica(**PACED)
    eventually(partial(has_asked, second, mark))

    casks.label(mode="enforce")
    first.wait_for_writes(casks, mark, count=20)
    if is_stopped:
        first.operator.child.pause()
    else:
        relay.freeze()
    second.wait_for_writes(casks, mark, count=20)
    throughout(partial(check_silent, first, control_plane.audit.mark()), seconds=GONE_SECONDS)
    came_back = control_plane.audit.mark()
    if is_stopped:
        first.operator.child.resume()
    else:
        relay.thaw()
    eventually(partial(has_asked, first, came_back))
    casks.wait_until_current(within_seconds=90)

    throughout(partial(check_stored, casks), seconds=3)
    relay.close()
    taken = times(second.takes(LEADER, mark))[0]
    assert times(first.writes(casks, mark))[0] < taken
    assert [at for at in times(first.writes(casks, mark)) if at > taken] == []
    assert [at for at in times(first.takes(LEADER, mark)) if at > taken] == []
    assert first.operator.child.exit_code is None
