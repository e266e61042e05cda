"""
Nothing is lost: the proof before the first rewrite, as a table and as stories.
"""

import re
from dataclasses import replace

import pytest

from espalier.crd import Definition, Version
from espalier.engine import Reason, RunOutcome, RunSettings, run
from espalier.paths import JSON
from tests.fakes.cluster import FakeCluster
from tests.fakes.widgets import V1_SCHEMA, V1ALPHA1_SCHEMA, widgets

SETTINGS = RunSettings(settle_seconds=0, page_size=4)


def one_version(schema: dict[str, JSON], **changes: object) -> Definition:
    version = Version(name="v1", served=True, storage=True, schema=schema, has_status=True)
    return widgets(**({"versions": (version,), "stored_versions": ("v1",)} | changes))


WITHOUT_COLOR = one_version(V1ALPHA1_SCHEMA)
WITH_COLOR = one_version(V1_SCHEMA)
FLIPPED_BACK = widgets(
    versions=(
        Version(name="v1alpha1", served=True, storage=True, schema=V1ALPHA1_SCHEMA),
        Version(name="v1", served=False, storage=False, schema=V1_SCHEMA),
    ),
)
STORED_WITHOUT_SCHEMA = replace(
    FLIPPED_BACK,
    versions=(FLIPPED_BACK.versions[0], replace(FLIPPED_BACK.versions[1], schema=None)),
)
STORED_UNKNOWN = replace(WITHOUT_COLOR, stored_versions=("v0", "v1"))
STORED_UNREADABLE = replace(
    FLIPPED_BACK,
    versions=(
        FLIPPED_BACK.versions[0],
        replace(FLIPPED_BACK.versions[1], schema={"$ref": "#/definitions/x"}),
    ),
)


async def run_on(cluster: FakeCluster) -> RunOutcome:
    assert cluster.definition is not None
    return await run(cluster.definition, cluster.ports, SETTINGS, cluster)


def a_cluster(definition: Definition = WITH_COLOR) -> FakeCluster:
    cluster = FakeCluster(definition)
    for name in ("a", "b"):
        spec: JSON = {"size": 1, "color": "blue"}
        cluster.put(name, {"spec": spec}, version="v1", managed=("size", "color"))
    return cluster


def digest_in(outcome: RunOutcome) -> str:
    found = re.search(r"espalier\.dev/loss=([0-9a-f]{16}) ", outcome.conditions[0].message)
    assert found is not None, outcome.conditions[0].message
    return found[1]


def consent(cluster: FakeCluster, digest: str) -> None:
    cluster.change(labels={**widgets().labels, "espalier.dev/loss": digest})


async def accept(cluster: FakeCluster) -> None:
    """
    Consent to what a run shows.
    """
    consent(cluster, digest_in(await run_on(cluster)))


async def test_a_field_dropped_from_the_schema_stays_in_etcd_until_it_is_accepted() -> None:
    cluster = a_cluster()
    assert (await run_on(cluster)).is_proved

    cluster.change(versions=WITHOUT_COLOR.versions)
    cluster.calls.clear()
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.WOULD_LOSE_DATA
    assert ".spec.color at v1 (2 objects)" in outcome.conditions[0].message
    assert "blue" not in outcome.conditions[0].message
    assert cluster.count("rewrite") == 0
    assert cluster.raw("a")["spec"] == {"size": 1, "color": "blue"}

    cluster.change(versions=WITH_COLOR.versions)
    assert (await run_on(cluster)).is_proved
    assert cluster.raw("a")["spec"] == {"size": 1, "color": "blue"}

    cluster.change(versions=WITHOUT_COLOR.versions)
    await accept(cluster)
    assert (await run_on(cluster)).is_proved
    assert cluster.raw("a")["spec"] == {"size": 1}


async def test_a_default_that_no_manager_names_is_lost_data_too() -> None:
    cluster = FakeCluster(WITH_COLOR)
    cluster.put("a", {"spec": {"size": 1}}, version="v1")
    assert (await run_on(cluster)).is_proved
    cluster.change(versions=WITHOUT_COLOR.versions)
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.WOULD_LOSE_DATA
    assert ".spec.color at v1 (1 object)" in outcome.conditions[0].message


async def test_what_was_accepted_once_is_not_asked_again() -> None:
    cluster = a_cluster(replace(WITHOUT_COLOR, generation=2))
    await accept(cluster)
    assert (await run_on(cluster)).is_proved
    cluster.change(versions=WITHOUT_COLOR.versions, labels=widgets().labels)
    assert (await run_on(cluster)).is_proved


async def test_a_field_that_came_and_went_between_proofs_is_known() -> None:
    cluster = FakeCluster(WITHOUT_COLOR)
    cluster.put("a", {"spec": {"size": 1}}, version="v1", managed=None)
    assert (await run_on(cluster)).is_proved
    # Its run is stopped right away, but the schema was seen.
    cluster.change(versions=WITH_COLOR.versions)
    cluster.missing = ("patch widgets",)
    assert (await run_on(cluster)).reason == Reason.FORBIDDEN
    cluster.missing = ()
    cluster.put("a", {"spec": {"size": 1, "color": "blue"}}, version="v1", managed=None)
    cluster.change(versions=WITHOUT_COLOR.versions)
    assert (await run_on(cluster)).reason == Reason.WOULD_LOSE_DATA
    assert cluster.raw("a")["spec"] == {"size": 1, "color": "blue"}


async def test_a_schema_seen_while_nothing_may_be_done_is_known_too() -> None:
    cluster = FakeCluster(WITHOUT_COLOR)
    cluster.put("a", {"spec": {"size": 1}}, version="v1", managed=None)
    assert (await run_on(cluster)).is_proved
    cluster.change(versions=WITH_COLOR.versions, labels={"espalier.dev/mode": "observe"})
    assert (await run_on(cluster)).reason == Reason.OBSERVED
    cluster.put("a", {"spec": {"size": 1, "color": "blue"}}, version="v1", managed=None)
    cluster.change(versions=WITHOUT_COLOR.versions, labels=widgets().labels)
    assert (await run_on(cluster)).reason == Reason.WOULD_LOSE_DATA


async def test_an_acceptance_that_is_taken_back_stops_a_run_that_goes_on() -> None:
    cluster = a_cluster(replace(WITHOUT_COLOR, generation=2))
    await accept(cluster)

    def take_back(call: str, _: str) -> None:
        if call == "get_object":
            cluster.change(labels=widgets().labels)
            cluster.hooks.clear()

    cluster.hooks.append(take_back)
    cluster.put("c", {"spec": {"color": "blue"}}, version="v1", managed=("color",))
    assert (await run_on(cluster)).reason == Reason.WOULD_LOSE_DATA


PORTS_SCHEMA: dict[str, JSON] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "ports": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"port": {"type": "integer"}, "name": {"type": "string"}},
                    },
                }
            },
        }
    },
}
NAMELESS_SCHEMA: dict[str, JSON] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "ports": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"port": {"type": "integer"}}},
                }
            },
        }
    },
}
NAMED_PORT: JSON = {"ports": [{"port": 1, "name": "web"}]}


async def test_what_a_list_owned_as_a_whole_may_hold_is_decided_by_the_stored_version() -> None:
    cluster = FakeCluster(
        widgets(
            versions=(
                Version(name="v1alpha1", served=True, storage=False, schema=PORTS_SCHEMA),
                Version(name="v1", served=True, storage=True, schema=NAMELESS_SCHEMA),
            )
        )
    )
    # A list without x-kubernetes-list-type: managedFields name it, and nothing in it.
    cluster.put("a", {"spec": NAMED_PORT}, managed=("ports",))

    outcome = await run_on(cluster)

    assert outcome.reason == Reason.WOULD_LOSE_DATA
    assert ".spec.ports[*].name at v1alpha1 (1 object)" in outcome.conditions[0].message
    assert cluster.raw("a")["spec"] == NAMED_PORT


async def test_no_list_no_loss_in_it() -> None:
    cluster = FakeCluster(
        widgets(
            versions=(
                Version(name="v1alpha1", served=True, storage=False, schema=PORTS_SCHEMA),
                Version(name="v1", served=True, storage=True, schema=NAMELESS_SCHEMA),
            )
        )
    )
    cluster.put("a", {"spec": {}}, managed=())
    assert (await run_on(cluster)).is_proved


async def test_a_schema_seen_before_the_first_proof_is_known() -> None:
    cluster = FakeCluster(one_version(PORTS_SCHEMA))
    cluster.put("a", {"spec": NAMED_PORT}, version="v1", managed=("ports",))
    cluster.missing = ("patch widgets",)
    assert (await run_on(cluster)).reason == Reason.FORBIDDEN
    cluster.missing = ()
    cluster.change(versions=one_version(NAMELESS_SCHEMA).versions)
    assert (await run_on(cluster)).reason == Reason.WOULD_LOSE_DATA
    assert cluster.raw("a")["spec"] == NAMED_PORT


async def test_a_schema_that_changes_before_the_first_proof_stops_the_run() -> None:
    cluster = FakeCluster(one_version(PORTS_SCHEMA))
    cluster.put("a", {"spec": NAMED_PORT}, version="v1", managed=("ports",))

    def narrow(call: str, _: str) -> None:
        if call == "get_object":
            cluster.hooks.clear()
            cluster.change(versions=one_version(NAMELESS_SCHEMA).versions)

    cluster.hooks.append(narrow)
    assert (await run_on(cluster)).reason == Reason.WOULD_LOSE_DATA


@pytest.mark.parametrize("managed", [None, ("ports",)], ids=["no history", "a list as a whole"])
async def test_what_a_legacy_definition_preserved_is_not_pruned_by_a_rewrite_unasked(
    managed: tuple[str, ...] | None,
) -> None:
    cluster = FakeCluster(one_version(NAMELESS_SCHEMA, preserve_unknown_fields=True))
    cluster.put("a", {"spec": {"ports": [{"port": 1}]}}, version="v1", managed=managed)
    assert (await run_on(cluster)).is_proved

    # Somebody writes, and turns pruning on before the new object is seen.
    cluster.put("b", {"spec": NAMED_PORT}, version="v1", managed=managed)
    cluster.change(preserve_unknown_fields=False, generation=2)
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.WOULD_LOSE_DATA
    assert "unknown fields were preserved before" in outcome.conditions[0].message
    assert cluster.raw("b")["spec"] == NAMED_PORT

    await accept(cluster)
    assert (await run_on(cluster)).is_proved
    cluster.change(labels=widgets().labels, generation=3)
    assert (await run_on(cluster)).is_proved


@pytest.mark.parametrize("schema", [None, {"$ref": "#/definitions/x"}], ids=["none", "unreadable"])
async def test_a_legacy_definition_that_gets_a_schema_and_prunes_at_once_is_known(
    schema: dict[str, JSON] | None,
) -> None:
    bare = Version(name="v1", served=True, storage=True, schema=schema)
    cluster = FakeCluster(widgets(versions=(bare,), preserve_unknown_fields=True))
    cluster.change(stored_versions=("v1",))
    cluster.put("a", {"spec": NAMED_PORT}, version="v1", managed=None)
    assert not (await run_on(cluster)).is_proved
    cluster.change(versions=one_version(NAMELESS_SCHEMA).versions, preserve_unknown_fields=False)
    assert (await run_on(cluster)).reason == Reason.WOULD_LOSE_DATA
    assert cluster.raw("a")["spec"] == NAMED_PORT


async def test_what_was_accepted_is_asked_again_if_a_schema_may_have_come_and_gone_unseen() -> None:
    cluster = a_cluster(replace(WITHOUT_COLOR, generation=2))
    await accept(cluster)
    assert (await run_on(cluster)).is_proved
    # Without the label: the field comes, is used and goes.
    blue: JSON = {"size": 1, "color": "blue"}
    cluster.put("a", {"spec": blue}, version="v1", managed=("size", "color"))
    cluster.change(labels=widgets().labels, generation=4)
    assert (await run_on(cluster)).reason == Reason.WOULD_LOSE_DATA
    assert cluster.raw("a")["spec"] == blue
