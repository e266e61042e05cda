"""
Stories of objects that are written once: a write after the settle time is a proof by itself.
"""

from dataclasses import replace

from tests.engine.runs.pruned import SETTINGS, a_cluster, all_are_current, run_on, stored_versions
from tests.fakes.cluster import FakeCluster
from tests.fakes.faults import expired

ONCE = replace(SETTINGS, settle_seconds=0, sample_least=0)
"""Fewer than fifty objects have an empty sample."""


async def test_each_object_is_written_once_if_the_settle_time_is_over() -> None:
    cluster = a_cluster(40)

    outcome = await run_on(cluster, ONCE)

    assert outcome.is_proved
    assert all_are_current(cluster)
    assert stored_versions(cluster) == ("v1",)
    assert cluster.count("rewrite") == 40
    assert outcome.conditions[0].message.endswith(
        "40 of them were proved by the answers to their writes, the others were written again"
    )


async def test_what_was_written_before_the_settle_time_is_written_again() -> None:
    cluster = a_cluster(40)
    cluster.takes_seconds["rewrite"] = 1.0
    # Four at a time.
    outcome = await run_on(cluster, replace(ONCE, settle_seconds=5))

    assert outcome.is_proved
    assert cluster.count("rewrite") == 40 + 5 * 4


async def test_what_others_wrote_or_made_since_is_written_again() -> None:
    cluster = a_cluster(40)

    def write(call: str, name: str) -> None:
        if (call, name) == ("rewrite", "w039"):
            cluster.hooks.clear()
            cluster.put("w001", {"spec": {"size": 1}})
            cluster.touch("w002")

    cluster.hooks.append(write)
    outcome = await run_on(cluster, ONCE)

    assert outcome.is_proved
    assert all_are_current(cluster)
    assert [name for call, name in cluster.calls if call == "rewrite"][40:] == ["w001", "w002"]


async def test_a_server_that_answers_and_stores_the_old_version_is_found_by_the_sample() -> None:
    cluster = a_cluster(40)
    store_old_until(cluster, writes=40)

    outcome = await run_on(cluster, replace(ONCE, sample_least=3))

    assert outcome.is_proved
    assert all_are_current(cluster)
    # The first verify pass finds the sample old; two more passes write each object.
    assert cluster.count("rewrite") in range(40 + 3 + 40 + 40, 4 * 40 + 1)


async def test_all_are_written_again_if_they_are_no_more_than_the_sample() -> None:
    cluster = a_cluster(40)
    store_old_until(cluster, writes=40)

    outcome = await run_on(cluster, replace(ONCE, sample_least=40))

    assert outcome.is_proved
    assert all_are_current(cluster)


async def test_a_flip_there_and_back_makes_earlier_writes_no_proofs() -> None:
    cluster = a_cluster(40)
    definition = cluster.definition
    assert definition is not None

    def flip(call: str, name: str) -> None:
        if (call, name) == ("rewrite", "w039"):
            cluster.hooks.clear()
            moved = tuple(replace(one, storage=not one.storage) for one in definition.versions)
            cluster.change(versions=moved, stored_versions=("v1", "v1alpha1"))
            cluster.change(versions=definition.versions)

    cluster.hooks.append(flip)
    assert (await run_on(cluster, ONCE)).is_proved
    assert cluster.count("rewrite") == 40 + 40


async def test_a_pass_that_outlives_its_token_is_proved_by_a_quick_one() -> None:
    cluster = a_cluster(40)
    cluster.takes_seconds["rewrite"] = 1.0
    listed, begun_seconds = 0, 0.0

    def expire(call: str, _: str) -> None:
        nonlocal listed, begun_seconds
        if call != "list_metadata":
            return
        now_seconds = cluster.clock.monotonic_seconds()
        if listed == 0:
            begun_seconds = now_seconds
        elif now_seconds > begun_seconds + 5:
            begun_seconds = now_seconds
            raise expired(f"default/w{4 * listed - 1:03}")
        listed = (listed + 1) % 10

    cluster.hooks.append(expire)
    outcome = await run_on(cluster, replace(ONCE, settle_seconds=100))

    assert outcome.is_proved
    assert all_are_current(cluster)
    assert cluster.count("rewrite") == 40 + 40


def store_old_until(cluster: FakeCluster, *, writes: int) -> None:
    """
    Store the first objects again as they were, each behind the answer to its write.
    """
    seen = 0

    def store_old(call: str, name: str) -> None:
        nonlocal seen
        seen += call == "rewrite"
        if call == "rewrite" and seen <= writes:
            cluster.raw(name)["apiVersion"] = "example.com/v1alpha1"

    cluster.after_hooks.append(store_old)
