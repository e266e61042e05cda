"""
Objects that take too long to judge: counted, named, and passed over.
"""

from dataclasses import replace

import pytest

from espalier.crd import Version
from espalier.engine import Scope, survey
from espalier.engine.ports import ObjectKey, WorkItem
from espalier.engine.surveys.cost import MAX_BYTES, MAX_RULES, CostEstimate
from espalier.engine.surveys.examination import examination_of
from espalier.engine.surveys.page_examiner import MAX_BATCH_BYTES
from espalier.engine.surveys.summary import describe
from espalier.names import SCHEMA_VIOLATIONS
from espalier.paths import JSON
from espalier.schema import Profile, Structural, parse
from tests.engine.surveys.test_annotations import run_on
from tests.fakes.cluster import FakeCluster
from tests.fakes.widgets import ENFORCE, legacy_widgets, widgets
from tests.fakes.workers import FakeWorkers

LARGE = ObjectKey("default", "large")
REASON = "it takes longer than 5 s"
SIZES: dict[str, JSON] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {"sizes": {"type": "array", "items": {"type": "integer", "minimum": 0}}},
        }
    },
}


def sized(**labels: str) -> FakeCluster:
    version = Version(name="v1", served=True, storage=True, schema=SIZES)
    cluster = FakeCluster(widgets(versions=(version,), stored_versions=("v1",), labels=labels))
    cluster.put("small", {"spec": {"sizes": [1]}}, version="v1")
    cluster.put("large", {"spec": {"sizes": [-1] * 5_000}}, version="v1")
    cluster.put("slow", {"spec": {"sizes": [2] * 5_000}}, version="v1")
    return cluster


def annotation_of_large(cluster: FakeCluster) -> JSON:
    return cluster.etcd[LARGE].annotations.get(SCHEMA_VIOLATIONS)


def parse_as_server(schema: JSON) -> Structural | None:
    return parse(schema, profile=Profile.APISERVER)


def is_slow(item: WorkItem) -> bool:
    return b"[2,2," in item.data


async def test_an_overdue_object_is_counted_and_named_and_the_others_are_judged() -> None:
    cluster = sized()
    cluster.workers = FakeWorkers(is_slow)
    assert cluster.definition is not None

    found = await survey(cluster.definition, cluster, cluster.clock, Scope(workers=cluster.workers))

    assert found.objects == 3
    (late,) = found.not_judged.paths
    assert (late.path, late.first) == (REASON, (ObjectKey("default", "slow"),))
    assert found.violations.first == (ObjectKey("default", "large"),)
    assert f"Not judged, since {REASON} (1 object: default/slow)" in describe(
        found, cluster.definition
    )


async def test_only_objects_that_may_take_long_are_sent_to_a_worker() -> None:
    cluster = sized()
    cluster.workers = workers = FakeWorkers()
    assert cluster.definition is not None

    await survey(cluster.definition, cluster, cluster.clock, Scope(workers=workers))

    ((first, second),) = workers.batches
    assert first != second


async def test_a_bounded_part_of_a_page_waits_for_the_workers() -> None:
    cluster = sized()
    for number in range(8):
        cluster.put(f"w{number}", {"spec": {"sizes": [1] * 300_000}}, version="v1")
    cluster.workers = workers = FakeWorkers(lambda _: True)
    assert cluster.definition is not None

    found = await survey(cluster.definition, cluster, cluster.clock, Scope(workers=workers))

    assert found.not_judged.objects == 10
    assert max(workers.sizes) <= MAX_BATCH_BYTES
    assert len(workers.sizes) > 1


async def test_no_condition_calls_objects_valid_of_which_one_was_not_judged() -> None:
    cluster = sized(**ENFORCE)
    cluster.workers = FakeWorkers(lambda _: True)

    outcome = await run_on(cluster)

    valid = outcome.conditions[1]
    assert (valid.status, valid.reason) == ("Unknown", "Incomplete")
    assert f"Not judged, since {REASON} (2 objects: default/large, default/slow)" in valid.message


async def test_a_large_invalid_object_is_annotated_as_without_workers() -> None:
    here, there = sized(**ENFORCE), sized(**ENFORCE)
    there.workers = workers = FakeWorkers()

    for cluster in (here, there):
        await run_on(cluster)

    assert workers.batches
    assert annotation_of_large(there) == annotation_of_large(here) is not None


async def test_the_annotation_of_an_object_that_is_not_judged_stays() -> None:
    cluster = sized(**ENFORCE)
    await run_on(cluster)
    before = annotation_of_large(cluster)
    cluster.etcd[LARGE].raw["spec"] = {"sizes": [1] * 5_000}
    cluster.workers = FakeWorkers(lambda _: True)

    await run_on(cluster)

    assert annotation_of_large(cluster) == before is not None


def test_an_object_in_a_worker_and_in_the_loop_is_found_to_be_the_same() -> None:
    definition = legacy_widgets()
    obj: dict[str, JSON] = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"size": "large", "junk": 1},
    }

    found = examination_of(definition).prepare()(obj)

    (violation,) = found.paths["violations"]
    assert violation.startswith("spec.size: Invalid value")
    assert found.paths["pruned"] == {"spec.junk"}
    assert found.annotation is not None


def test_what_is_kept_of_an_object_is_bounded() -> None:
    obj: dict[str, JSON] = {
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {f"{number}": number for number in range(50_000)},
    }

    found = examination_of(legacy_widgets()).prepare()(obj)

    assert len(found.paths["pruned"]) == 1001


def test_an_examination_depends_on_the_schema_and_not_on_labels() -> None:
    one, other = widgets(), widgets(labels={}, resource_version="2", generation=2)
    changed = widgets(versions=(replace(one.versions[1], schema=SIZES),))

    assert examination_of(one).digest == examination_of(other).digest
    assert examination_of(one).digest != examination_of(changed).digest


@pytest.mark.parametrize(
    ("items", "count", "is_cheap"),
    [
        ({"type": "integer"}, 400, True),
        ({"type": "integer"}, 4_000, False),
        ({"type": "integer", "not": {"enum": [5]}}, 400, True),
        ({"type": "integer", "oneOf": [{"minimum": number} for number in range(40)]}, 400, False),
        ({"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0"}]}, 400, False),
    ],
)
def test_what_is_cheap_depends_on_the_values_and_on_the_schema(
    items: dict[str, JSON], count: int, *, is_cheap: bool
) -> None:
    structural = parse_as_server({"type": "array", "items": items})

    assert CostEstimate(structural).is_cheap(b"[%s1]" % (b"1," * (count - 1))) == is_cheap


def test_a_long_text_and_a_schema_with_many_rules_are_not_cheap() -> None:
    rules: list[JSON] = [{"rule": "true"}] * (MAX_RULES + 1)
    node: JSON = {"type": "string", "x-kubernetes-validations": rules}
    many = parse_as_server({"type": "object", "properties": {"a": node}})

    assert not CostEstimate(many).is_cheap(b"{}")
    assert not CostEstimate(parse_as_server({"type": "string"})).is_cheap(b"x" * (MAX_BYTES + 1))
    assert CostEstimate(None).is_cheap(b"{}")
