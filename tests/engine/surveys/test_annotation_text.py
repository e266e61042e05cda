"""
The text of an annotation: bounded, JSON, and nothing that a tenant wrote.
"""

import json

from espalier.crd import Version
from espalier.engine.ports import ObjectKey
from espalier.engine.ports.records import metadata_of
from espalier.engine.surveys.annotation_text import MAX_ANNOTATION_BYTES, render_violations
from espalier.engine.surveys.annotations import Note, note_for
from espalier.engine.surveys.report import Looked
from espalier.engine.surveys.surveyor import Surveyor
from espalier.findings import ErrorType, FieldError
from espalier.names import SCHEMA_VIOLATIONS
from espalier.paths import JSON
from tests.engine.surveys.test_annotations import run_on
from tests.fakes.clock import FakeClock
from tests.fakes.cluster import FakeCluster
from tests.fakes.widgets import widgets

RULE: dict[str, JSON] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {"sizes": {"type": "array", "items": {"type": "integer"}}},
            "x-kubernetes-validations": [{"rule": "self.sizes.all(size, size < 5)"}],
        }
    },
}


def test_an_annotation_stays_where_something_could_not_be_checked() -> None:
    seen: dict[str, JSON] = {
        "metadata": {
            "name": "a",
            "uid": "u",
            "resourceVersion": "1",
            "annotations": {SCHEMA_VIOLATIONS: "{}"},
        }
    }
    key = ObjectKey("", "a")
    whole = Looked(key, None, is_complete=True)
    assert note_for(seen, whole) == Note(metadata_of(seen), None)
    assert note_for(seen, whole._replace(is_complete=False)) is None
    found = (FieldError(type=ErrorType.REQUIRED, path=("spec",)),)
    noted = note_for(seen, Looked(key, render_violations(found), is_complete=False))
    assert noted is not None
    assert noted.text is not None


def test_objects_with_unevaluated_rules_or_malformed_metadata_are_incomplete() -> None:
    version = Version(name="v1", served=True, storage=True, schema=RULE)
    definition = widgets(versions=(version,), stored_versions=("v1",))
    out_of_time = Surveyor(definition, clock=SlowClock())
    obj: dict[str, JSON] = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"sizes": [1] * 10_000},
    }
    malformed: dict[str, JSON] = {**obj, "metadata": {"name": "a", "labels": {"a": 1}}}
    assert Surveyor(definition).look_at(obj) == Looked(ObjectKey("default", "a"))
    assert not out_of_time.look_at(obj).is_complete
    assert not Surveyor(definition).look_at(malformed).is_complete


class SlowClock(FakeClock):
    """
    An hour passes between any two looks at it.
    """

    seconds = 0.0

    def monotonic_seconds(self) -> float:
        self.seconds += 3600.0
        return self.seconds


def test_an_annotation_is_bounded_and_stays_json() -> None:
    many = [
        FieldError(type=ErrorType.REQUIRED, path=("spec", f"field-{number}"), detail="x" * 50)
        for number in range(1000)
    ]
    text = render_violations(many)
    assert text is not None
    assert len(text.encode()) <= MAX_ANNOTATION_BYTES
    document = json.loads(text)
    assert len(document["violations"]) + document["more"] == 1000
    assert render_violations([]) is None


def test_one_violation_too_long_for_the_annotation_is_counted() -> None:
    # Cut, but each of these characters takes twelve bytes.
    long = FieldError(type=ErrorType.REQUIRED, path=("spec", *["\U0001f600" * 200] * 9))
    assert render_violations([long]) == '{"violations":[],"more":1}'


SECRETIVE: dict[str, JSON] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "size": {"type": "integer", "maximum": 5},
                "when": {"type": "string", "format": "date-time"},
                "mode": {"type": "string", "enum": ["fast", "slow"]},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "token": {
                    "type": "string",
                    "x-kubernetes-validations": [
                        {"rule": "self.size() > 3", "message": "too short a token"},
                        {"rule": "self == 'x'", "messageExpression": "'bad token ' + self"},
                        {"rule": "int(self) > 3"},
                    ],
                },
            },
        }
    },
}


KEY = "evil\nAll is well\x1b[2J\u202e"


async def test_nothing_that_a_tenant_wrote_reaches_the_annotation_or_the_condition() -> None:
    version = Version(name="v1", served=True, storage=True, schema=SECRETIVE)
    cluster = FakeCluster(
        widgets(
            versions=(version,), stored_versions=("v1",), labels={"espalier.dev/mode": "enforce"}
        )
    )
    spec: dict[str, JSON] = {"when": "hunter2", "mode": "hunter2", "labels": {KEY: 1}, "size": 7}
    cluster.put("bad", {"spec": {**spec, "token": "hunter2"}}, version="v1")
    cluster.put("worse", {"spec": {"token": "hunter2"}}, version="v1")
    outcome = await run_on(cluster)

    texts = [str(cluster.etcd[key].annotations.get(SCHEMA_VIOLATIONS)) for key in cluster.etcd]
    messages = [condition.message for condition in outcome.conditions]
    for text in [*texts, *messages]:
        assert "hunter2" not in text
        assert text.isprintable()
    details = {
        entry["path"] + ": " + entry.get("detail", "")
        for text in texts
        for entry in json.loads(text)["violations"]
    }
    assert any(r"spec.labels.evil\u000aAll is well\u001b[2J\u202e" in text for text in details)
    assert 'spec.mode: supported values: "fast", "slow"' in details
    assert "spec.size: should be less than or equal to 5" in details
    assert "spec.when: by format" in details
    assert """spec.token: rule 2 of spec.token: "self == 'x'\"""" in details
    assert 'spec.token: rule 3 of spec.token: "int(self) > 3"' in details
