"""
Stories of verify passes whose lists cannot go on at the resource version at which they began.
"""

from collections.abc import Callable

from espalier.engine import Reason
from tests.engine.runs.pruned import a_cluster, all_are_current, run_on, stored_versions
from tests.fakes.cluster import FakeCluster
from tests.fakes.faults import expired


def restore_in_verify_pass(cluster: FakeCluster, *, restores: int = 1) -> Callable[[], int]:
    """
    Put an old object behind the third page of the first verify passes, and expire its token.

    Returns:
        How many pages of verify passes were listed since the last restore.
    """
    listed = {"pages": 0, "since": 0, "restores": 0}

    def restore(call: str, _: str) -> None:
        if call != "list_metadata" or cluster.clock.monotonic_seconds() < 30:
            return
        listed["pages"] += 1
        listed["since"] += 1
        if listed["restores"] < restores and listed["pages"] % 4 == 3:
            listed["restores"] += 1
            listed["since"] = 0
            cluster.put("w000", {"spec": {"size": 0}})
            raise expired("default/w007")

    cluster.hooks.append(restore)
    return lambda: listed["since"]


async def test_a_verify_pass_that_went_on_with_a_fresh_token_is_done_again() -> None:
    cluster = a_cluster()
    pages_since = restore_in_verify_pass(cluster)
    trims: list[int] = []

    def note(call: str, _: str) -> None:
        if call == "set_stored_versions":
            assert all_are_current(cluster)
            trims.append(pages_since())

    cluster.hooks.append(note)
    outcome = await run_on(cluster)

    assert outcome.is_proved
    assert stored_versions(cluster) == ("v1",)
    # The last page of that pass; a pass that finds the old object; one that finds all in form.
    assert trims == [1 + 3 + 3]


async def test_nothing_is_trimmed_if_the_tokens_of_each_verify_pass_expire() -> None:
    cluster = a_cluster()
    lists = iter(range(1000))

    def expire(call: str, _: str) -> None:
        if call == "list_metadata" and next(lists) % 4 == 2:
            raise expired("default/w007")

    cluster.hooks.append(expire)
    outcome = await run_on(cluster)

    assert (outcome.reason, outcome.retries) == (Reason.PENDING, True)
    assert stored_versions(cluster) == ("v1alpha1", "v1")
    assert cluster.count("set_stored_versions") == 0
    assert outcome.conditions[0].message.startswith(
        "the continue token of a list expired during each of 5 verify passes."
    )


async def test_a_fresh_token_in_one_namespace_of_several_counts_too() -> None:
    cluster = a_cluster()
    cluster.change(annotations={"espalier.dev/namespaces": "default,empty"})
    lists = iter(range(1000))

    def restore(call: str, _: str) -> None:
        # Three pages in one namespace and one in the other; then the verify pass.
        if call == "list_metadata" and next(lists) == 4 + 2:
            cluster.put("w000", {"spec": {"size": 0}})
            raise expired("w007")

    cluster.hooks.append(restore)
    outcome = await run_on(cluster)

    assert outcome.reason == Reason.PARTIAL
    assert all_are_current(cluster)


async def test_a_list_that_begins_anew_is_a_proof() -> None:
    cluster = a_cluster()
    lists = iter(range(1000))

    def expire(call: str, _: str) -> None:
        if call == "list_metadata" and next(lists) == 3 + 2:
            raise expired()

    cluster.hooks.append(expire)
    assert (await run_on(cluster)).is_proved
    assert cluster.count("rewrite") == 10 + 8 + 10
