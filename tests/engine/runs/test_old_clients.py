"""
Clients that keep writing through an older version: stored at the storage version, without its form.
"""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from espalier.engine import Reason
from espalier.paths import JSON
from tests.engine.runs.pruned import SETTINGS, a_cluster, run_on, stored_versions
from tests.fakes.cluster import FakeCluster
from tests.fakes.widgets import V1_SCHEMA, V1ALPHA1_SCHEMA, widgets, written_by

BOTH = ("v1alpha1", "v1")
FIELDS: JSON = {"f:spec": {"f:size": {}}}


def write(cluster: FakeCluster, name: str, *, stored_at: str, manager: str = "old-client") -> None:
    """
    Have a client of v1alpha1 write an object through a server that stores a version.
    """
    key = cluster.put(name, {"spec": {"size": int(name[1:])}}, version=stored_at)
    cluster.etcd[key].managed_fields = [written_by(manager, FIELDS, version="v1alpha1")]


def before_each_pass(cluster: FakeCluster, act: Callable[[], None]) -> None:
    def hook(call: str, _: str) -> None:
        if call == "list_metadata":
            act()

    cluster.hooks.append(hook)


async def test_an_old_client_does_not_hold_the_trim() -> None:
    cluster = a_cluster(5)
    before_each_pass(cluster, lambda: write(cluster, "w001", stored_at="v1"))
    outcome = await run_on(cluster)
    assert (outcome.reason, outcome.retries) == (Reason.NOT_NORMAL, True)
    assert not outcome.is_proved
    assert stored_versions(cluster) == ("v1",)
    assert outcome.conditions[0].status == "False"
    assert outcome.conditions[0].message == (
        "all stored objects are at the storage version v1, for generation 1; storedVersions: v1."
        " But something keeps writing 1 object of 5 out of normal form (default/w001). Field"
        ' managers that wrote them through another version: "old-client" (v1alpha1). API servers'
        " fill in the missing defaults whenever they read these objects; they are in normal form"
        " once all clients write through v1. The run is tried again"
    )


async def test_the_form_is_verified_once_the_client_has_moved() -> None:
    cluster = a_cluster(5)
    before_each_pass(cluster, lambda: write(cluster, "w001", stored_at="v1"))
    assert (await run_on(cluster)).reason == Reason.NOT_NORMAL
    assert (await run_on(cluster)).reason == Reason.NOT_NORMAL
    cluster.hooks.clear()
    assert (await run_on(cluster)).is_proved


async def test_new_objects_of_an_old_client_do_not_hold_it_either() -> None:
    cluster = a_cluster(3)

    def create() -> None:
        write(cluster, f"w{100 + cluster.count('list_metadata'):03d}", stored_at="v1")

    before_each_pass(cluster, create)
    assert (await run_on(cluster, replace(SETTINGS, page_size=500))).reason == Reason.NOT_NORMAL
    assert stored_versions(cluster) == ("v1",)


async def test_the_same_client_behind_a_stale_server_holds_it() -> None:
    cluster = a_cluster(5)
    before_each_pass(cluster, lambda: write(cluster, "w001", stored_at="v1alpha1"))
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.FAILED
    assert "5 verify passes in a row" in outcome.conditions[0].message
    assert stored_versions(cluster) == BOTH


async def test_one_stale_write_among_others_holds_it() -> None:
    cluster = a_cluster(5)

    def both() -> None:
        write(cluster, "w001", stored_at="v1")
        write(cluster, "w003", stored_at="v1alpha1")

    before_each_pass(cluster, both)
    assert (await run_on(cluster)).reason == Reason.FAILED
    assert stored_versions(cluster) == BOTH


async def test_it_is_held_where_an_object_cannot_show_its_version() -> None:
    # Both versions specify all that an object of this client shows.
    v1alpha1, v1 = widgets().versions
    kept: dict[str, JSON] = {
        "type": "object",
        "properties": {"color": {"type": "string"}, "size": {"type": "integer"}},
    }
    properties = V1ALPHA1_SCHEMA["properties"]
    assert isinstance(properties, dict)
    versions = (
        replace(v1alpha1, schema={**V1ALPHA1_SCHEMA, "properties": {**properties, "spec": kept}}),
        v1,
    )
    cluster = a_cluster(5, widgets(versions=versions))
    before_each_pass(cluster, lambda: write(cluster, "w001", stored_at="v1"))
    assert (await run_on(cluster)).reason == Reason.FAILED
    assert stored_versions(cluster) == BOTH


async def test_a_run_on_some_namespaces_trims_nothing() -> None:
    annotations = {"espalier.dev/namespaces": "default"}
    cluster = a_cluster(5, widgets(annotations=annotations))
    before_each_pass(cluster, lambda: write(cluster, "w001", stored_at="v1"))
    assert (await run_on(cluster)).reason == Reason.FAILED
    assert stored_versions(cluster) == BOTH


async def test_a_write_between_the_read_and_the_patch_is_looked_at_too() -> None:
    cluster = a_cluster(5)
    before_each_pass(cluster, lambda: write(cluster, "w001", stored_at="v1"))

    def write_old(call: str, name: str) -> None:
        # Behind the read of this pass, and before its patch.
        if (call, name) != ("rewrite", "w001"):
            return
        before = [called for called, key in cluster.calls if key == "w001"][-2:-1]
        if before == ["get_object"]:
            write(cluster, "w001", stored_at="v1alpha1")
            cluster.hooks.remove(write_old)
            cluster.hooks.append(write_old_again)

    def write_old_again(call: str, _: str) -> None:
        if call == "list_metadata":
            cluster.hooks.remove(write_old_again)
            cluster.hooks.append(write_old)

    cluster.hooks.append(write_old)
    assert (await run_on(cluster)).reason == Reason.FAILED
    assert stored_versions(cluster) == BOTH


async def test_managers_are_counted_escaped_and_cut() -> None:
    cluster = a_cluster(8)

    def write_all() -> None:
        for number in range(7):
            write(cluster, f"w{number:03d}", stored_at="v1", manager=f"m{number}\x1b" + "x" * 100)

    before_each_pass(cluster, write_all)
    message = (await run_on(cluster)).conditions[0].message
    assert "\x1b" not in message
    assert '"m0\\u001bxxx' in message
    assert message.count("(v1alpha1)") == 5
    assert "and 2 more" in message
    assert "x" * 61 not in message


@pytest.mark.parametrize("seed", range(25))
async def test_at_no_trim_any_object_is_stored_at_another_version(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - no secret
    cluster = a_cluster(6)
    share = dice.choice((0.0, 0.05, 0.5))
    trims: list[set[object]] = []

    def write_some() -> None:
        for number in dice.sample(range(9), k=dice.randrange(4)):
            stored_at = "v1alpha1" if dice.random() < share else "v1"
            write(cluster, f"w{number:03d}", stored_at=stored_at)

    def note(call: str, _: str) -> None:
        if call == "set_stored_versions":
            trims.append({stored.raw["apiVersion"] for stored in cluster.etcd.values()})

    before_each_pass(cluster, write_some)
    cluster.hooks.append(note)
    settings = replace(SETTINGS, page_size=500, sample_least=dice.choice((0, 2000)))
    outcome = await run_on(cluster, settings)
    assert all(versions == {"example.com/v1"} for versions in trims)
    assert bool(trims) == (outcome.reason in {Reason.CURRENT, Reason.NOT_NORMAL})
    if not share:
        assert trims


def test_the_schemas_differ_by_a_default_that_the_old_one_lacks() -> None:
    assert "color" in str(V1_SCHEMA)
    assert "color" not in str(V1ALPHA1_SCHEMA)
