"""
What the rewrite of one object would lose, as tables.
"""

from dataclasses import replace
from types import MappingProxyType

import pytest

from espalier.crd import Definition, Version
from espalier.engine.policy.consent import ShownLoss, consented, read_shown, render_shown
from espalier.engine.policy.evidence import (
    GONE_VERSION,
    MAX_ITEMS,
    MORE_ITEMS,
    NO_MANAGED_FIELDS,
    Evidence,
    Verdict,
)
from espalier.engine.policy.loss_message import describe_loss
from espalier.engine.policy.record import (
    SchemaRecord,
    first_record,
    read_record,
    record_of_proof,
    render_record,
)
from espalier.engine.ports import ObjectKey, StoredMetadata
from espalier.paths import JSON

TEXT: JSON = {"type": "string"}
NOON = 1_800_014_400.0  # 2027-01-15T12:00:00Z
SETTLE_SECONDS = 30.0
ALL_STORAGES = frozenset({"v1"})


def schema(*fields: str, **more: JSON) -> dict[str, JSON]:
    properties: dict[str, JSON] = {**dict.fromkeys(fields, TEXT), **more}
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


def version(name: str, *fields: str, served: bool = True, **more: JSON) -> Version:
    return Version(name=name, served=served, storage=False, schema=schema(*fields, **more))


def definition(*versions: Version, generation: int = 2, conversion: str = "None") -> Definition:
    *others, storage = versions
    return Definition(
        name="widgets.example.com",
        uid="u",
        resource_version="1",
        generation=generation,
        group="example.com",
        kind="Widget",
        plural="widgets",
        namespaced=True,
        versions=(*others, replace(storage, storage=True)),
        stored_versions=tuple(each.name for each in versions),
        preserve_unknown_fields=False,
        conversion=conversion,
        established=True,
        deleting=False,
        spec_written_at="2027-01-15T11:00:00Z",
        created_at="2027-01-15T08:00:00Z",
    )


def entry(*fields: str, at: str = "v1", time: str = "2027-01-15T10:00:00Z") -> JSON:
    return {
        "manager": "kubectl",
        "operation": "Update",
        "apiVersion": f"example.com/{at}",
        "time": time,
        "fieldsV1": {"f:spec": {f"f:{name}": {} for name in fields}},
    }


def metadata(*entries: JSON, created_at: str = "2027-01-15T09:00:00Z") -> StoredMetadata:
    return StoredMetadata(
        key=ObjectKey("default", "a"),
        uid="a",
        resource_version="1",
        created_at=created_at,
        managed_fields=entries,
    )


def judge(
    defined: Definition,
    record: SchemaRecord | None,
    obj: StoredMetadata,
    *,
    storages: frozenset[str] | None = ALL_STORAGES,
) -> Verdict:
    evidence = Evidence(
        defined,
        record,
        settle_seconds=SETTLE_SECONDS,
        now_seconds=NOON,
        storages=storages,
    )
    return evidence.judge(obj)


ONE = definition(version("v1", "size"))
BEFORE = definition(version("v1", "size", "color"), generation=1)
COMPLETE = first_record(BEFORE).with_definition(ONE)
TWO = definition(version("v1alpha1", "size", "color"), version("v1", "size"))
TWO_UNSERVED = definition(version("v1alpha1", "size", "color", served=False), version("v1", "size"))
PORTS: JSON = {"type": "array", "items": {"type": "object", "properties": {"port": TEXT}}}
WITH_PORTS = definition(version("v1", "size", ports=PORTS))


@pytest.mark.parametrize(
    ("defined", "record", "obj", "items"),
    [
        pytest.param(ONE, None, metadata(entry("size")), [], id="named and specified"),
        pytest.param(ONE, None, metadata(entry("color")), ["v1.spec.color"], id="named, not kept"),
        pytest.param(ONE, None, metadata(), [NO_MANAGED_FIELDS], id="no managedFields"),
        pytest.param(
            ONE, None, metadata(entry("size", at="v0")), [GONE_VERSION], id="a dropped version"
        ),
        pytest.param(
            ONE,
            None,
            metadata(entry("list"), entry("size"), created_at="2027-01-15T11:02:00Z"),
            ["v1.spec.list"],
            id="created after the last change, as it seems, with a field that cannot be",
        ),
        pytest.param(
            ONE,
            None,
            metadata(entry("size", at="v0"), created_at="2027-01-15T11:02:00Z"),
            [GONE_VERSION],
            id="created after the last change, as it seems, at a version that cannot be",
        ),
        pytest.param(
            ONE,
            None,
            metadata(created_at="2027-01-15T11:02:00Z"),
            [],
            id="created after the last change",
        ),
        pytest.param(
            ONE,
            None,
            metadata(entry("color", time="2027-01-15T11:02:00Z")),
            [],
            id="written after the last change",
        ),
        pytest.param(
            ONE,
            None,
            metadata(entry("color", time="2027-01-15T11:01:00Z")),
            ["v1.spec.color"],
            id="written while a server may have been behind",
        ),
        pytest.param(
            ONE,
            None,
            metadata(entry("color", time="2028-01-15T11:00:00Z")),
            ["v1.spec.color"],
            id="written in the future clears nothing",
        ),
        pytest.param(
            replace(ONE, spec_written_at=""),
            None,
            metadata(entry("color", time="2027-01-15T11:59:00Z")),
            ["v1.spec.color"],
            id="nothing tells when the definition changed",
        ),
        pytest.param(
            replace(ONE, generation=1), None, metadata(), [], id="there was one generation"
        ),
        pytest.param(
            WITH_PORTS,
            None,
            metadata(entry("ports")),
            ["?owned-as-a-whole v1.spec.ports"],
            id="a list that is owned as a whole",
        ),
        pytest.param(
            WITH_PORTS,
            record_of_proof(WITH_PORTS),
            metadata(entry("ports")),
            [],
            id="the same since a proof",
        ),
        pytest.param(ONE, COMPLETE, metadata(entry("color")), ["v1.spec.color"], id="recorded"),
        pytest.param(
            ONE, COMPLETE, metadata(entry("size")), ["v1.spec.color"], id="recorded, not named"
        ),
        pytest.param(
            ONE,
            record_of_proof(ONE),
            metadata(entry("color")),
            [],
            id="named, and gone since the proof",
        ),
        pytest.param(ONE, COMPLETE, metadata(), ["v1.spec.color"], id="recorded, no managedFields"),
        pytest.param(
            ONE,
            record_of_proof(ONE),
            metadata(entry("forged")),
            [],
            id="a complete record is not shaken by a forged entry",
        ),
        pytest.param(
            TWO_UNSERVED,
            record_of_proof(TWO_UNSERVED),
            metadata(entry("size")),
            ["v1alpha1.spec.color"],
            id="an unserved version specifies more",
        ),
    ],
)
def test_what_the_rewrite_of_an_object_would_lose(
    defined: Definition, record: SchemaRecord | None, obj: StoredMetadata, items: list[str]
) -> None:
    assert judge(defined, record, obj) == Verdict(items=frozenset(items))


def test_what_a_served_version_specifies_alone_is_compared() -> None:
    verdict = judge(TWO, record_of_proof(TWO), metadata(entry("size")))

    assert verdict == Verdict(compare_at=("v1alpha1",))


def test_where_a_webhook_converts_each_version_is_held_to_its_own_schema() -> None:
    versions = version("v1alpha1", "size", "color"), version("v1", "size", "color")
    before = definition(*versions, conversion="Webhook")
    after = replace(
        definition(versions[0], version("v1", "size"), conversion="Webhook"), generation=3
    )
    record = record_of_proof(before).with_definition(after)

    verdict = judge(after, record, metadata(entry("color", at="v1alpha1")))

    assert verdict == Verdict(items=frozenset({"v1.spec.color"}))


def test_the_record_keeps_what_each_version_specified() -> None:
    # Dropped from one version first, and from the other one later.
    first = definition(version("v1alpha1", "size", "color"), version("v1", "size", "color"))
    second = definition(version("v1alpha1", "size", "color"), version("v1", "size"), generation=3)
    third = definition(version("v1alpha1", "size"), version("v1", "size"), generation=4)
    record = record_of_proof(first).with_definition(second).with_definition(third)

    assert record.is_complete
    assert judge(third, record, metadata(entry("color"))).items == {
        "v1alpha1.spec.color",
        "v1.spec.color",
    }


@pytest.mark.parametrize(
    ("generation", "is_complete"), [(2, True), (3, True), (4, False), (1, False)]
)
def test_a_generation_that_was_passed_over_makes_the_record_incomplete(
    generation: int, *, is_complete: bool
) -> None:
    record = record_of_proof(ONE).with_definition(replace(ONE, generation=generation))

    assert record.is_complete is is_complete


def test_another_schema_of_the_same_generation_makes_the_record_incomplete() -> None:
    assert not record_of_proof(ONE).with_definition(replace(BEFORE, generation=2)).is_complete


def test_a_record_survives_its_document() -> None:
    assert read_record(render_record(COMPLETE)) == COMPLETE
    assert COMPLETE.digest() == first_record(BEFORE).with_definition(ONE).digest()
    assert COMPLETE.digest() != record_of_proof(ONE).digest()


@pytest.mark.parametrize(
    "changes",
    [
        {"generation": "2"},
        {"isComplete": 1},
        {"specified": []},
        {"specified": {"v1": [1]}},
        {"specified": {"v1": ["no path"]}},
        {"specified": {"v1": [".a", ".a"]}},
    ],
)
def test_a_document_with_one_odd_part_is_no_record(changes: dict[str, JSON]) -> None:
    assert read_record(render_record(COMPLETE) | changes) is None


def test_one_object_names_a_bounded_number_of_paths_and_nobody_consents_to_the_rest() -> None:
    fields = [f"x{number}" for number in range(MAX_ITEMS + 1)]

    items = judge(ONE, None, metadata(entry(*fields))).items

    assert len(items) == MAX_ITEMS + 1
    assert MORE_ITEMS in items
    assert not ShownLoss(items).covers(items)


def test_consent_is_to_exactly_what_was_shown() -> None:
    shown = ShownLoss(frozenset({"v1.spec.color", "v1.spec.size"}))

    assert consented(shown.digest, [ShownLoss(), shown]) == shown
    assert consented("accept", [shown]) == ShownLoss()
    assert consented("", [ShownLoss(), shown]) == ShownLoss()
    assert shown.covers({"v1.spec.color"})
    assert not shown.covers({"v1.spec.color", "v1alpha1.spec.color"})
    assert read_shown(render_shown(shown)) == shown
    assert read_shown([1]) is None


def test_what_a_tenant_named_is_shown_without_control_characters() -> None:
    text = describe_loss("v1.spec.a\n\x1b[31mb")

    assert text == r".spec.a\u000a\u001b[31mb at v1"
    assert len(describe_loss("v1.spec." + "x" * 10_000)) < 500


def test_a_record_can_be_made_without_a_schema_that_can_be_read() -> None:
    unreadable = replace(version("v1alpha1"), schema={"$ref": "#/definitions/x"})
    defined = definition(unreadable, version("v1", "size"))

    record = record_of_proof(defined)

    assert not record.is_complete
    assert record.specified == MappingProxyType(
        {"v1alpha1": frozenset(), "v1": frozenset({".spec", ".spec.size"})}
    )
    assert judge(defined, record, metadata(entry("size"))).items == {
        "?schema-cannot-be-read v1alpha1"
    }


@pytest.mark.parametrize("storages", [None, frozenset({"v1alpha1", "v1"})])
@pytest.mark.parametrize("is_complete", [True, False])
@pytest.mark.parametrize(
    ("defined", "verdict"),
    [
        (TWO, Verdict(compare_at=("v1alpha1",))),
        (TWO_UNSERVED, Verdict(items=frozenset({"v1alpha1.spec.color"}))),
    ],
)
def test_that_stored_versions_lack_a_version_is_no_proof(
    defined: Definition, verdict: Verdict, storages: frozenset[str] | None, *, is_complete: bool
) -> None:
    trimmed = replace(defined, stored_versions=("v1",))
    record = record_of_proof(trimmed) if is_complete else None
    old, new = metadata(entry("size")), metadata(created_at="2027-01-15T11:02:00Z")

    assert judge(trimmed, record, old, storages=storages) == verdict
    # A write since is stored at the storage version.
    assert judge(trimmed, record, new, storages=storages).is_clear
    # So is everything, if no other version was ever the storage version.
    assert judge(trimmed, record, old).is_clear
