"""
Stories of admission that no dry run has shown: the answers of the rewrites show it.
"""

from collections.abc import Callable

import pytest

from espalier.crd import Version
from espalier.engine import Reason, RunOutcome, RunSettings, run
from espalier.paths import JSON
from tests.fakes.cluster import FakeCluster
from tests.fakes.widgets import V1ALPHA1_SCHEMA, legacy_widgets, widgets, written_by

SETTINGS = RunSettings(settle_seconds=1, page_size=50, max_in_flight=1)


def plain(**changes: object) -> FakeCluster:
    """
    Make a cluster whose storage version has no default.
    """
    versions = (
        Version(name="v1alpha1", served=True, storage=False, schema=V1ALPHA1_SCHEMA),
        Version(name="v1", served=True, storage=True, schema=V1ALPHA1_SCHEMA),
    )
    cluster = FakeCluster(widgets(**({"versions": versions} | changes)))
    cluster.fill(60)
    return cluster


def only_for_real(
    cluster: FakeCluster, name: str, change: Callable[[dict[str, JSON]], None]
) -> None:
    """
    Have admission change an object, but not in a dry run.
    """

    def begin(call: str, of: str) -> None:
        cluster.admission = change if (call, of) == ("rewrite", name) else None

    cluster.hooks.append(begin)


def resize(obj: dict[str, JSON]) -> None:
    obj["spec"] = {"size": 4711}


async def run_on(cluster: FakeCluster) -> RunOutcome:
    assert cluster.definition is not None
    return await run(cluster.definition, cluster.ports, SETTINGS, cluster)


@pytest.mark.parametrize("managed", [("size",), None])
async def test_a_generation_that_rises_without_a_default_stops_the_run(
    managed: tuple[str, ...] | None,
) -> None:
    cluster = plain()
    for stored in cluster.etcd.values():
        stored.managed_fields = stored.managed_fields if managed else []
    only_for_real(cluster, "w030", resize)
    outcome = await run_on(cluster)
    message = outcome.conditions[0].message
    assert outcome.reason == Reason.ADMISSION_MUTATES
    assert "the rewrite of default/w030 changed more than the schema does" in message
    assert "the generation rose, and there is no default to fill in" in message
    assert "30 objects were rewritten before it" in message
    assert "4711" not in message
    assert cluster.count("rewrite") == 31
    assert cluster.count("set_stored_versions") == 0


@pytest.mark.parametrize(
    ("manager", "shown"),
    [("w" * 100, f"{'w' * 29}...{'w' * 28}"), ("ev\x1b[1mil\n", "ev\\u001b[1mil\\u000a")],
)
async def test_another_field_manager_is_named_escaped_and_cut(manager: str, shown: str) -> None:
    cluster = plain()

    def appear(_: dict[str, JSON]) -> None:
        entry = written_by(manager, {"f:spec": {"f:size": {}}})
        cluster.etcd[next(key for key in cluster.etcd if key.name == "w003")].managed_fields += [
            entry
        ]

    only_for_real(cluster, "w003", appear)
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.ADMISSION_MUTATES
    assert f"field manager {shown} appeared" in outcome.conditions[0].message


async def test_labels_annotations_and_finalizers_are_compared() -> None:
    cluster = plain()

    def annotate(_: dict[str, JSON]) -> None:
        key = next(key for key in cluster.etcd if key.name == "w007")
        cluster.etcd[key].annotations["example.com/note"] = "secret"

    only_for_real(cluster, "w007", annotate)
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.ADMISSION_MUTATES
    assert "labels, annotations or finalizers" in outcome.conditions[0].message
    assert "secret" not in outcome.conditions[0].message


async def test_defaults_raise_the_generation_and_stop_nothing() -> None:
    cluster = FakeCluster(widgets())
    cluster.fill(60)
    assert (await run_on(cluster)).is_proved
    assert {one.generation for one in cluster.etcd.values()} == {2}


async def test_a_schema_that_prunes_raises_no_generation() -> None:
    old = Version(name="v1", served=True, storage=True, schema=V1ALPHA1_SCHEMA)
    cluster = FakeCluster(widgets(versions=(old,), stored_versions=("v1",)))
    for number in range(9):
        cluster.put(f"w{number}", {"spec": {"size": number, "junk": 1}}, version="v1")
    assert (await run_on(cluster)).is_proved
    assert {one.generation for one in cluster.etcd.values()} == {1}


async def test_where_it_is_not_known_what_has_changed_an_object_more_dry_runs_are_made() -> None:
    untracked, tracked = FakeCluster(widgets()), FakeCluster(widgets())
    for cluster in (untracked, tracked):
        cluster.fill(200)
    for stored in untracked.etcd.values():
        stored.managed_fields = []
    assert (await run_on(untracked)).is_proved
    assert (await run_on(tracked)).is_proved
    assert untracked.count("try_rewrite") > tracked.count("try_rewrite")


async def test_a_legacy_definition_has_no_defaults() -> None:
    cluster = FakeCluster(legacy_widgets(stored_versions=("v0", "v1")))
    for number in range(9):
        cluster.put(f"w{number}", {"spec": {"size": number}}, version="v0")
    only_for_real(cluster, "w4", resize)
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.ADMISSION_MUTATES


async def test_a_default_within_a_list_explains_what_the_list_gains() -> None:
    ports: dict[str, JSON] = {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"port": {"type": "integer"}, "protocol": {"type": "string"}},
        },
    }

    def schema_of(items: dict[str, JSON]) -> dict[str, JSON]:
        return {
            "type": "object",
            "properties": {
                "spec": {"type": "object", "properties": {"ports": {**ports, "items": items}}}
            },
        }

    item = ports["items"]
    assert isinstance(item, dict)
    filled: dict[str, JSON] = {
        **item,
        "properties": {
            "port": {"type": "integer"},
            "protocol": {"type": "string", "default": "TCP"},
        },
    }
    versions = (
        Version(name="v1alpha1", served=True, storage=False, schema=schema_of(item)),
        Version(name="v1", served=True, storage=True, schema=schema_of(filled)),
    )
    cluster = FakeCluster(widgets(versions=versions))
    for number in range(9):
        cluster.put(f"w{number}", {"spec": {"ports": [{"port": number}]}}, managed=("ports",))
    assert (await run_on(cluster)).is_proved
