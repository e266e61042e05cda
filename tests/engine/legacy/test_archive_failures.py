"""
Stories of an archive that is busy, of writes that are always denied, and of killed processes.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from espalier.cluster import FolderArchive
from espalier.engine import Reason, RunOutcome, RunSettings, run
from espalier.engine.flowcontrol.calls import MAX_ATTEMPTS
from espalier.errors import ForbiddenError, TransientError
from tests.engine.legacy.garbage import CLEAN, GARBAGE, a_cluster, content
from tests.fakes.cluster import FakeCluster
from tests.fakes.faults import Killed, busy

SETTINGS = RunSettings(settle_seconds=0, page_size=2, max_in_flight=1)


def denied() -> ForbiddenError:
    return ForbiddenError(verb="update", resource="widgets", status=403, reason="Forbidden")


async def run_with(cluster: FakeCluster, archive: FolderArchive) -> RunOutcome:
    assert cluster.definition is not None
    ports = replace(cluster.ports, archive=archive)
    return await run(cluster.definition, ports, SETTINGS, cluster)


async def names_in(archive: FolderArchive, cluster: FakeCluster) -> list[str]:
    assert cluster.definition is not None
    return sorted([entry.key.name async for entry in archive.entries(cluster.definition)])


@pytest.mark.real_time
async def test_an_object_that_is_always_denied_is_archived_once(tmp_path: Path) -> None:
    cluster = a_cluster(3)
    cluster.fail("replace", denied(), name="w1", times=999)
    for attempt in range(3):
        # Its status is written all the time, so that it has another resource version.
        cluster.touch("w1", {"status": {"ready": bool(attempt % 2), "old": "x"}})
        outcome = await run_with(cluster, FolderArchive(tmp_path))
        assert outcome.reason in {Reason.FAILED, Reason.FORBIDDEN}
        assert await names_in(FolderArchive(tmp_path), cluster) == ["w0", "w1", "w2"]
    assert content(cluster, "w0") == CLEAN
    assert cluster.count("replace") > 5


@pytest.mark.real_time
async def test_a_process_that_is_killed_before_a_write_has_archived_the_page(
    tmp_path: Path,
) -> None:
    cluster = a_cluster(4)

    def kill(call: str, _: str) -> None:
        if call == "replace":
            raise Killed

    cluster.hooks.append(kill)
    for _ in range(3):
        with pytest.raises(Killed):
            await run_with(cluster, FolderArchive(tmp_path))
        assert await names_in(FolderArchive(tmp_path), cluster) == ["w0", "w1"]
    cluster.hooks.clear()

    assert (await run_with(cluster, FolderArchive(tmp_path))).is_proved
    assert await names_in(FolderArchive(tmp_path), cluster) == ["w0", "w1", "w2", "w3"]


async def test_a_write_that_is_made_again_asks_no_archive_again() -> None:
    cluster = a_cluster(1)
    cluster.fail("replace", busy(), times=4)
    assert cluster.definition is not None
    assert (await run(cluster.definition, cluster.ports, SETTINGS, cluster)).is_proved
    assert cluster.count("archive") == 1
    assert content(cluster, "w0") == CLEAN


@pytest.mark.parametrize(
    "error",
    [
        busy(),
        busy(retry_after_seconds=3),
        TransientError(verb="create", resource="secrets", reason="Timeout"),
    ],
)
@pytest.mark.parametrize("after_effect", [False, True])
async def test_an_archive_that_is_busy_for_a_while_ends_no_run(
    error: TransientError, *, after_effect: bool
) -> None:
    cluster = a_cluster(3)
    fail = cluster.fail_after if after_effect else cluster.fail
    fail("archive", error, times=MAX_ATTEMPTS - 1)
    assert cluster.definition is not None
    assert (await run(cluster.definition, cluster.ports, SETTINGS, cluster)).is_proved
    assert [entry.key.name for entry in cluster.archived] == ["w0", "w1", "w2"]


async def test_an_archive_that_stays_away_ends_the_run_before_anything_is_pruned() -> None:
    cluster = a_cluster(3)
    cluster.fail("archive", busy(), times=999)
    assert cluster.definition is not None
    outcome = await run(cluster.definition, cluster.ports, SETTINGS, cluster)
    assert outcome.reason == Reason.FAILED
    assert cluster.count("archive") == MAX_ATTEMPTS
    assert cluster.count("replace") == 0
    assert content(cluster, "w0") == GARBAGE


async def test_each_run_looks_at_the_archive_anew() -> None:
    cluster = a_cluster(3)
    assert cluster.definition is not None
    await run(cluster.definition, cluster.ports, SETTINGS, cluster)
    assert cluster.count("begin") == 1
    cluster.touch("w0", GARBAGE)
    await run(cluster.definition, cluster.ports, SETTINGS, cluster)
    assert cluster.count("begin") == 2
