"""
What is to be done for a definition, as a table.
"""

from dataclasses import replace

import pytest

from espalier.crd import Condition, Definition, Version
from espalier.engine import (
    Legacy,
    Reason,
    ServerPruned,
    Stop,
    plan,
    read_policy,
    run_identity,
    run_key,
)
from espalier.engine.policy.labels import Mode
from espalier.paths import JSON
from tests.fakes.widgets import V1_SCHEMA, legacy_widgets, widgets


def labelled(**labels: str) -> Definition:
    named = {f"espalier.dev/{name.replace('_', '-')}": value for name, value in labels.items()}
    return widgets(labels={"espalier.dev/mode": "enforce", **named})


def annotated(*, namespaced: bool = True, **annotations: str) -> Definition:
    named = {f"espalier.dev/{name}": value for name, value in annotations.items()}
    return widgets(annotations=named, namespaced=namespaced)


def with_schema(schema: dict[str, JSON] | None, *, legacy: bool = False) -> Definition:
    version = Version(name="v1", served=True, storage=True, schema=schema)
    return widgets(versions=(version,), stored_versions=("v1",), preserve_unknown_fields=legacy)


MIGRATING = Condition(type="StorageMigrating", status="True", reason="MigrationRunning", message="")
ALPHA, V1 = widgets().versions
PRESERVING: dict[str, JSON] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
OWN_FIELDS_ONLY: dict[str, JSON] = {
    "type": "object",
    "properties": {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
    },
}
UNTYPED: dict[str, JSON] = {"type": "object", "properties": {"spec": {}}}
UNREADABLE: dict[str, JSON] = {"type": "object", "properties": {"spec": {"$ref": "#/x"}}}


@pytest.mark.parametrize(
    ("definition", "reason"),
    [
        (widgets(deleting=True), Reason.PENDING),
        (widgets(established=False), Reason.PENDING),
        (labelled(mode="observe"), Reason.OBSERVED),
        (labelled(mode="enfroce"), Reason.FAILED),
        (labelled(loss="yes"), Reason.FAILED),
        (labelled(prune="no"), Reason.FAILED),
        (annotated(namespaces="A_B"), Reason.FAILED),
        (annotated(namespaces=" , "), Reason.FAILED),
        (annotated(namespaced=False, namespaces="a"), Reason.FAILED),
        (annotated(namespaces=""), Reason.FAILED),
        (annotated(namespaces="a,"), Reason.FAILED),
        (annotated(namespaces="a,,b"), Reason.FAILED),
        (annotated(namespaces="a b"), Reason.FAILED),
        (annotated(namespaces="a;b"), Reason.FAILED),
        (annotated(namespaces="*"), Reason.FAILED),
        (annotated(namespaces="a.b"), Reason.FAILED),
        (annotated(namespaces="-a"), Reason.FAILED),
        (annotated(namespaces="A"), Reason.FAILED),
        (annotated(namespaces="\u00e4"), Reason.FAILED),
        (annotated(namespaces="a" * 64), Reason.FAILED),
        (annotated(window=""), Reason.FAILED),
        (annotated(window="night"), Reason.FAILED),
        (annotated(window="22:00-22:00"), Reason.FAILED),
        (annotated(window="24:00-06:00"), Reason.FAILED),
        (annotated(window="22:00-24:00"), Reason.FAILED),
        (annotated(window="22:00-6:00"), Reason.FAILED),
        (annotated(window="22:00\u201306:00"), Reason.FAILED),
        (annotated(window="22:00 - 06:00"), Reason.FAILED),
        (annotated(window="22:00-06:00,12:00-13:00"), Reason.FAILED),
        (annotated(window="\u0662\u0662:00-06:00"), Reason.FAILED),
        (annotated(window="22:00-06:00Z"), Reason.FAILED),
        (widgets(conditions=(MIGRATING,)), Reason.OTHER_MIGRATION),
        (widgets(versions=(ALPHA,)), Reason.FAILED),
        (widgets(versions=(ALPHA, replace(V1, served=False))), Reason.STORAGE_VERSION_NOT_SERVED),
        (with_schema(None), Reason.NO_SCHEMA),
        (with_schema(None, legacy=True), Reason.NO_SCHEMA),
        (with_schema(PRESERVING, legacy=True), Reason.NO_SCHEMA),
        (with_schema(OWN_FIELDS_ONLY, legacy=True), Reason.NO_SCHEMA),
        (
            legacy_widgets(versions=(*legacy_widgets().versions, replace(ALPHA, schema=None))),
            Reason.NO_SCHEMA,
        ),
        (with_schema(UNTYPED), Reason.NON_STRUCTURAL),
        (with_schema(UNTYPED, legacy=True), Reason.NON_STRUCTURAL),
        (with_schema(UNREADABLE), Reason.NON_STRUCTURAL),
    ],
)
def test_what_stops_a_run_before_it_begins(definition: Definition, reason: Reason) -> None:
    planned = plan(definition, read_policy(definition))
    assert isinstance(planned, Stop)
    assert planned.reason is reason
    assert planned.message


@pytest.mark.parametrize(
    ("definition", "kind"),
    [
        (widgets(), ServerPruned),
        (with_schema(PRESERVING), ServerPruned),
        (widgets(conversion="Webhook"), ServerPruned),
        (widgets(conditions=(replace(MIGRATING, status="False"),)), ServerPruned),
        (legacy_widgets(), Legacy),
        (labelled(prune="true", skip_owned="false", managed_fields="keep"), ServerPruned),
        (labelled(validate="false", annotate="false"), ServerPruned),
        (labelled(prune="false", default="false", migrate="false"), ServerPruned),
        (labelled(skip_owned="true", managed_fields="clean"), ServerPruned),
        (annotated(namespaces="a, b,a", window="22:00-06:00"), ServerPruned),
        (annotated(namespaces=" a ", window=" 22:00-06:00\n"), ServerPruned),
        (annotated(namespaces="a" * 63), ServerPruned),
        (
            widgets(annotations={"rbac.espalier.dev/x": "", "example.com/namespaces": ","}),
            ServerPruned,
        ),
        (
            legacy_widgets(
                labels={"espalier.dev/mode": "enforce", "espalier.dev/prune": "false"},
                versions=(replace(ALPHA, storage=True, schema=None),),
            ),
            Legacy,
        ),
    ],
)
def test_what_goes_on(definition: Definition, kind: type) -> None:
    planned = plan(definition, read_policy(definition))
    assert isinstance(planned, kind)


@pytest.mark.parametrize(
    ("place", "name", "message"),
    [
        (
            "labels",
            "skip_owned",
            "there is no label {} (is a label espalier.dev/skip-owned meant?)",
        ),
        (
            "labels",
            "namespace",
            "there is no label {} (is an annotation espalier.dev/namespaces meant?)",
        ),
        ("labels", "namespaces", "{} is no label: make it an annotation"),
        ("annotations", "skip-owned", "{} is no annotation: make it a label"),
        ("annotations", "mode", "{} is no annotation: make it a label"),
        (
            "annotations",
            "Windows",
            "there is no annotation {} (is an annotation espalier.dev/window meant?)",
        ),
        ("annotations", "owner", "there is no annotation {}"),
    ],
)
def test_a_key_that_means_nothing_where_it_stands_stops(
    place: str, name: str, message: str
) -> None:
    key = f"espalier.dev/{name}"
    made = widgets(**{place: {**getattr(widgets(), place), key: "true"}})
    planned = plan(made, read_policy(made))
    assert planned == Stop(Reason.FAILED, f"{message.format(key)}; nothing is done until then")


def test_of_many_unknown_keys_only_some_are_named() -> None:
    made = widgets(annotations={f"espalier.dev/x{n:04d}": "" for n in range(3000)})
    planned = plan(made, read_policy(made))
    assert isinstance(planned, Stop)
    assert planned.message.endswith("espalier.dev/x0004 and 2995 more; nothing is done until then")


def test_without_a_mode_no_key_matters() -> None:
    made = widgets(labels={"espalier.dev/skip_owned": "true"})
    assert read_policy(made).mode is Mode.OFF


def key(definition: Definition) -> str:
    return run_key(definition, read_policy(definition))


def test_a_default_may_nest_as_deeply_as_it_likes() -> None:
    shallow, deep = ({"type": "object", "default": deep_object(n)} for n in (5_000, 5_001))
    keys = [key(widgets(versions=(ALPHA, replace(V1, schema=one)))) for one in (shallow, deep)]

    assert keys[0] != keys[1]


def deep_object(levels: int) -> JSON:
    inner: JSON = {}
    for _ in range(levels):
        inner = {"a": inner}
    return inner


@pytest.mark.parametrize(
    "other",
    [
        widgets(versions=(ALPHA, replace(V1, schema=ALPHA.schema))),
        widgets(versions=(replace(ALPHA, schema=V1_SCHEMA), V1)),
        widgets(versions=(replace(ALPHA, served=False), V1)),
        widgets(versions=(replace(ALPHA, storage=True), replace(V1, storage=False))),
        widgets(versions=(ALPHA, replace(V1, has_status=False))),
        widgets(conversion="Webhook"),
        widgets(preserve_unknown_fields=True),
        labelled(prune="false"),
        labelled(migrate="false"),
        labelled(skip_owned="true"),
        annotated(namespaces="a"),
    ],
)
def test_what_makes_another_run(other: Definition) -> None:
    assert key(other) != key(widgets())


@pytest.mark.parametrize(
    "same",
    [
        widgets(generation=7),
        widgets(resource_version="7"),
        widgets(stored_versions=("v1",)),
        labelled(loss="accept"),
        labelled(mode="observe"),
        labelled(validate="true"),
        labelled(annotate="false"),
        annotated(window="22:00-06:00"),
    ],
)
def test_what_makes_no_other_run(same: Definition) -> None:
    assert key(same) == key(widgets())


@pytest.mark.parametrize(
    "other",
    [
        labelled(loss="accept"),
        labelled(mode="observe"),
        labelled(prune="no"),
        labelled(validate="false"),
        labelled(managed_fields="keep"),
        widgets(uid="x"),
        widgets(conditions=(MIGRATING,)),
        annotated(window="22:00-06:00"),
    ],
)
def test_what_has_another_purpose(other: Definition) -> None:
    assert run_identity(other) != run_identity(widgets())
