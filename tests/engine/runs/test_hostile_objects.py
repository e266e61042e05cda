"""
Objects that nobody would write, and that somebody does: none of them stops a run for the others.
"""

import pytest

from espalier.crd import Version
from espalier.engine import Reason, RunOutcome, RunSettings, Surveyor, run
from espalier.engine.ports import ObjectKey
from espalier.paths import JSON
from tests.fakes.cluster import FakeCluster
from tests.fakes.widgets import legacy_widgets, widgets

SETTINGS = RunSettings(settle_seconds=0, page_size=4)
DEPTH = 990

OPEN_SCHEMA: dict[str, JSON] = {
    "type": "object",
    "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
}
OPEN = widgets(
    versions=(Version(name="v1", served=True, storage=True, schema=OPEN_SCHEMA),),
    stored_versions=("v1",),
)


def deep(depth: int = DEPTH) -> JSON:
    value: JSON = 1
    for _ in range(depth):
        value = {"a": value}
    return value


async def run_on(cluster: FakeCluster) -> RunOutcome:
    assert cluster.definition is not None
    return await run(cluster.definition, cluster.ports, SETTINGS, cluster)


async def test_a_deeply_nested_object_is_tried_as_any_other() -> None:
    cluster = FakeCluster(OPEN)
    cluster.put("deep", {"spec": {"x": deep()}}, version="v1", managed=("x",))
    assert (await run_on(cluster)).is_proved


async def test_admission_is_seen_however_deep_it_changes_something() -> None:
    cluster = FakeCluster(OPEN)
    cluster.put("deep", {"spec": {"x": deep()}}, version="v1", managed=("x",))

    def change_the_core(obj: dict[str, JSON]) -> None:
        value: JSON = obj
        while isinstance(value, dict) and "a" not in value:
            value = value["spec"] if "spec" in value else value["x"]
        while isinstance(value, dict) and isinstance(value["a"], dict):
            value = value["a"]
        assert isinstance(value, dict)
        value["a"] = 2

    cluster.admission = change_the_core
    assert (await run_on(cluster)).reason == Reason.ADMISSION_MUTATES


def without_uid(cluster: FakeCluster, name: str) -> None:
    cluster.etcd[ObjectKey("default", name)].uid = ""


async def test_an_object_without_a_uid_is_named_and_left_while_the_others_are_rewritten() -> None:
    cluster = FakeCluster(widgets())
    cluster.fill(3)
    without_uid(cluster, "w001")

    outcome = await run_on(cluster)

    assert outcome.reason == Reason.FAILED
    assert "default/w001" in outcome.conditions[0].message
    assert {name for call, name in cluster.calls if call == "rewrite"} == {"w000", "w002"}


async def test_a_legacy_object_without_a_uid_is_named_and_the_others_are_pruned() -> None:
    cluster = FakeCluster(legacy_widgets())
    for name in ("a", "b", "c"):
        cluster.put(name, {"spec": {"size": 1, "junk": 1}}, version="v1")
    without_uid(cluster, "b")

    outcome = await run_on(cluster)

    assert outcome.reason == Reason.FAILED
    assert "default/b" in outcome.conditions[0].message
    assert [cluster.raw(name)["spec"] for name in ("a", "b", "c")] == [
        {"size": 1},
        {"size": 1, "junk": 1},
        {"size": 1},
    ]


def nested(levels: int) -> JSON:
    value: JSON = {"bottom": 1}
    for _ in range(levels):
        value = {"a": [value]}
    return value


@pytest.mark.parametrize("legacy", [False, True])
def test_a_survey_takes_objects_of_any_depth_and_any_names(*, legacy: bool) -> None:
    spec: dict[str, JSON] = {
        "type": "object",
        "properties": {
            "raw": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            "size": {"type": "integer"},
        },
    }
    schema: dict[str, JSON] = {"type": "object", "properties": {"spec": spec}}
    version = Version(name="v1", served=True, storage=True, schema=schema)
    definition = widgets(
        versions=(version,), stored_versions=("v1",), preserve_unknown_fields=legacy
    )
    surveyor = Surveyor(definition)
    hostile: list[JSON] = [
        {"raw": nested(3_000)},
        {"size": nested(3_000)},
        {"raw": {}, "junk": nested(3_000)},
        {"raw": {"x" * 100_000: 1}, "y" * 100_000: 1},
        {"size": "\ud800"},
        {"size": 10**18, "raw": {"\u0000": None}},
        [],
        None,
    ]
    for number, value in enumerate(hostile):
        metadata: dict[str, JSON] = {"name": f"o{number}", "namespace": "default"}
        surveyor.look_at({"metadata": metadata, "spec": value})
    found = surveyor.survey()
    assert found.objects == len(hostile)
    assert found.violations.objects >= 3
    assert len(repr(found)) < 100_000


@pytest.mark.parametrize("field", ["name", "namespace", "uid", "resourceVersion", "labels"])
def test_metadata_of_any_depth_is_looked_at(field: str) -> None:
    surveyor = Surveyor(OPEN)
    metadata: dict[str, JSON] = {"name": "o", "namespace": "default", field: nested(4_000)}
    surveyor.look_at({"metadata": metadata, "spec": {}})
    assert surveyor.survey().objects == 1
