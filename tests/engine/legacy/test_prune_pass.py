"""
Stories of legacy definitions: archive first, then prune.
"""

import pytest

from espalier.crd import Version
from espalier.engine import Reason, ShownLoss
from espalier.engine.ports import ObjectKey
from espalier.errors import ArchiveFullError
from espalier.paths import JSON
from tests.engine.legacy.garbage import CLEAN, GARBAGE, a_cluster, content, run_on
from tests.fakes.cluster import FakeCluster
from tests.fakes.faults import Killed, busy, rejected
from tests.fakes.widgets import legacy_widgets, widgets
from tests.virtual_time import play


async def test_garbage_goes_to_the_archive_and_out_of_the_objects() -> None:
    cluster = a_cluster()
    outcome = await run_on(cluster)
    assert outcome.is_proved
    assert outcome.watches_on
    assert [content(cluster, f"w{n}") for n in range(5)] == [CLEAN] * 5
    assert [entry.key.name for entry in cluster.archived] == ["w0", "w1", "w2", "w3", "w4"]
    assert cluster.archived[0].patch == (
        {"op": "test", "path": "/spec/ports", "value": [{"port": 1}, {"port": 2}]},
        {"op": "add", "path": "/spec/junk", "value": {"a": [1]}},
        {"op": "add", "path": "/spec/ports/0/proto", "value": "TCP"},
        {"op": "add", "path": "/status/old", "value": "x"},
        {"op": "add", "path": "/stray", "value": 1},
    )


async def test_each_page_is_archived_before_its_first_write() -> None:
    cluster = a_cluster()
    await run_on(cluster)
    archived: set[str] = set()
    for call, name in cluster.calls:
        if call == "archive":
            archived |= set(name.split("+"))
        if call.startswith("replace"):
            assert name in archived
    assert archived == {"w0", "w1", "w2", "w3", "w4"}


async def test_a_full_archive_means_that_the_page_is_not_pruned() -> None:
    cluster = a_cluster()

    def fill_up(call: str, name: str) -> None:
        if call == "archive" and name == "w2+w3":
            raise ArchiveFullError("64 MiB are archived already")

    cluster.hooks.append(fill_up)
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.ARCHIVE_FULL
    assert not outcome.watches_on
    assert [content(cluster, f"w{n}") for n in range(5)] == [CLEAN, CLEAN] + [GARBAGE] * 3


async def test_objects_that_cannot_be_archived_fail_while_all_others_are_pruned() -> None:
    cluster = a_cluster()

    def refuse(call: str, name: str) -> None:
        if call == "archive" and "w2" in name:
            left = frozenset({ObjectKey("default", "w2")})
            raise ArchiveFullError("its namespace has had its share", left=left)

    cluster.hooks.append(refuse)
    outcome = await run_on(cluster)

    assert outcome.reason == Reason.FAILED
    contents = [content(cluster, f"w{n}") for n in range(5)]
    assert contents == [CLEAN, CLEAN, GARBAGE, CLEAN, CLEAN]
    assert not outcome.is_proved
    assert "its namespace has had its share" in cluster.reports[-1][0].message


@pytest.mark.parametrize(
    ("before", "emptied"),
    [
        ({"spec": {"junk": 1}}, "spec"),
        ({"spec": {"size": 1}, "status": {"junk": 1}}, "status"),
    ],
)
async def test_an_object_that_would_become_empty_is_left_alone_and_the_rest_is_pruned(
    before: dict[str, JSON], emptied: str
) -> None:
    cluster = a_cluster()
    cluster.put("w4", before, version="v1")
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.WOULD_LOSE_DATA
    assert f".{emptied} at v1 (1 object)" in outcome.conditions[0].message
    assert "default/w4" in outcome.conditions[0].message
    assert content(cluster, "w4") == before
    assert [content(cluster, f"w{n}") for n in range(4)] == [CLEAN] * 4


async def test_a_loss_that_is_accepted_is_archived_all_the_same() -> None:
    digest = ShownLoss(frozenset({"v1.spec"})).digest
    accepting = legacy_widgets(labels={**widgets().labels, "espalier.dev/loss": digest})
    cluster = FakeCluster(accepting)
    cluster.put("a", {"spec": {"junk": 1}}, version="v1")
    assert (await run_on(cluster)).is_proved
    assert content(cluster, "a") == {"spec": {}}
    assert cluster.archived[0].patch == ({"op": "add", "path": "/spec/junk", "value": 1},)


async def test_what_any_version_specifies_stays() -> None:
    plain = legacy_widgets().versions[0]
    other: dict[str, JSON] = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"junk": {"type": "object"}}}},
    }
    beta = Version(name="v1beta1", served=True, storage=False, schema=other)
    cluster = FakeCluster(legacy_widgets(versions=(plain, beta)))
    cluster.put("a", {"spec": {"size": 1, "junk": {}, "gone": 1}}, version="v1")
    assert (await run_on(cluster)).is_proved
    assert content(cluster, "a") == {"spec": {"size": 1, "junk": {}}}


async def test_a_value_of_the_wrong_type_stays() -> None:
    cluster = FakeCluster(legacy_widgets())
    odd: dict[str, JSON] = {"spec": {"size": {"a": 1}, "ports": {"b": 2}}}
    cluster.put("a", odd, version="v1")
    outcome = await run_on(cluster)
    assert outcome.is_proved
    assert "wrong type stay, with all they hold: 1 object (default/a)" in (
        outcome.conditions[0].message
    )
    assert content(cluster, "a") == odd


@pytest.mark.parametrize("call", ["replace", "replace/status"])
@pytest.mark.parametrize("after_effect", [False, True])
async def test_a_write_that_fails_once_is_made_again_from_a_fresh_object(
    call: str, *, after_effect: bool
) -> None:
    cluster = a_cluster(2)
    fail = cluster.fail_after if after_effect else cluster.fail
    fail(call, busy(), name="w1")
    assert (await run_on(cluster)).is_proved
    assert [content(cluster, f"w{n}") for n in range(2)] == [CLEAN] * 2


async def test_what_is_written_meanwhile_is_archived_anew_before_it_goes() -> None:
    cluster = a_cluster(1)

    def write(call: str, _: str) -> None:
        if call == "replace":
            cluster.hooks.clear()
            cluster.touch("w0", {"spec": {"size": 7, "junk": "newer"}})

    cluster.hooks.append(write)
    assert (await run_on(cluster)).is_proved
    assert content(cluster, "w0") == {"spec": {"size": 7}, "status": {"ready": True}}
    newest = cluster.archived[-1]
    assert {"op": "add", "path": "/spec/junk", "value": "newer"} in newest.patch
    calls = [call for call, _ in cluster.calls]
    assert calls.index("archive", calls.index("replace")) < calls.index(
        "replace", calls.index("replace") + 1
    )


async def test_admission_that_puts_fields_back_is_a_failure_and_not_a_loop() -> None:
    cluster = a_cluster(1)

    def put_back(obj: dict[str, JSON]) -> None:
        if "junk" not in str(obj["spec"]):
            obj["stray"] = 2

    cluster.admission = put_back
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.FAILED
    assert "come back" in outcome.conditions[0].message


async def test_a_bad_object_never_stops_the_others() -> None:
    cluster = a_cluster()
    cluster.fail("replace", rejected(), name="w1", times=99)
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.FAILED
    assert "default/w1" in outcome.conditions[0].message
    assert content(cluster, "w1") == GARBAGE
    assert [content(cluster, f"w{n}") for n in (0, 2, 3, 4)] == [CLEAN] * 4


@pytest.mark.parametrize("after_effect", [False, True])
def test_a_process_killed_at_any_call_has_archived_what_is_gone(*, after_effect: bool) -> None:
    async def story(kill_at: int) -> bool:
        cluster = a_cluster(3)
        cluster.kill_at, cluster.is_killed_after_effect = kill_at, after_effect
        try:
            await run_on(cluster)
        except Killed:
            for number in range(3):
                name = f"w{number}"
                archived = [e.patch for e in cluster.archived if e.key.name == name]
                if "junk" not in str(cluster.raw(name)):
                    assert any("/spec/junk" in str(patch) for patch in archived)
                if "old" not in str(cluster.raw(name)):
                    assert any("/status/old" in str(patch) for patch in archived)
            cluster.kill_at = None
            assert (await run_on(cluster)).is_proved
            assert [content(cluster, f"w{n}") for n in range(3)] == [CLEAN] * 3
            return True
        return False

    kills = 0
    while play(story(kills + 1)):
        kills += 1
    assert kills > 20
