"""
What is exposed: that it parses, what it is called, how much it is, and when it goes.
"""

import gzip
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from espalier.observe.catalogue import CATALOGUE
from espalier.observe.metrics import exposition, registry_of
from espalier.observe.recorder import Recorder
from tests.debian import promtool
from tests.docs.reading import ROOT
from tests.handlers.world import definition_of
from tests.observe.states import StillClock, migrating, prove, rewrite, sources_of

Series = Mapping[tuple[str, frozenset[tuple[str, str]]], float]
CRD = "widgets.example.com"
OURS = ("espalier_", "leader_election_", "workqueue_", "rest_client_")


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def recorder(clock: StillClock) -> Recorder:
    return Recorder(clock)


def scraped(recorder: Recorder, clock: StillClock) -> bytes:
    return exposition(registry_of(sources_of(recorder, clock)))


def series(text: bytes) -> Series:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def value(found: Series, metric: str, /, **labels: str) -> float | None:
    return found.get((metric, frozenset(labels.items())))


def test_a_run_under_way_is_seen_object_by_object(recorder: Recorder, clock: StillClock) -> None:
    rewrite(recorder, migrating(), done=40, total=100)

    found = series(scraped(recorder, clock))

    objects = "espalier_run_objects"
    assert value(found, objects, crd=CRD, phase="rewrite", state="done") == 40
    assert value(found, objects, crd=CRD, phase="rewrite", state="remaining") == 60
    assert value(found, "espalier_object_writes_total", crd=CRD, result="rewritten") == 40
    assert value(found, "espalier_definition_stored_versions", crd=CRD) == 2
    assert value(found, "leader_election_master_status", name="espalier-bucket-2-of-3") == 1
    condition = {"crd": CRD, "type": "espalier.dev/StoredObjectsCurrent", "status": "False"}
    assert value(found, "espalier_definition_condition", **condition, reason="Rewriting") == 1


def test_after_a_proof_nothing_remains_and_one_trim_is_counted(
    recorder: Recorder, clock: StillClock
) -> None:
    prove(recorder, migrating(), objects=100)

    found = series(scraped(recorder, clock))

    assert value(found, "espalier_object_writes_total", crd=CRD, result="rewritten") == 100
    assert value(found, "espalier_object_writes_total", crd=CRD, result="unchanged") == 100
    assert value(found, "espalier_trims_total", crd=CRD) == 1
    assert value(found, "espalier_runs_total", crd=CRD, outcome="verified") == 1
    assert value(found, "espalier_runs_total", crd=CRD, outcome="failed") == 0
    objects = "espalier_run_objects"
    assert value(found, objects, crd=CRD, phase="verify", state="remaining") == 0
    assert value(found, "espalier_run_success_timestamp_seconds", crd=CRD) is not None
    for phase in ("wait", "rewrite", "settle", "verify", "trim", "survey"):
        assert value(found, "espalier_run_duration_seconds_count", phase=phase) == 1


def test_a_second_run_adds_to_the_counts_of_the_first(
    recorder: Recorder, clock: StillClock
) -> None:
    prove(recorder, migrating(), objects=100)
    prove(recorder, migrating(), objects=10)

    found = series(scraped(recorder, clock))

    assert value(found, "espalier_object_writes_total", crd=CRD, result="rewritten") == 110
    assert value(found, "espalier_runs_total", crd=CRD, outcome="verified") == 2


@pytest.mark.parametrize("how", ["deleted", "unlabelled"])
def test_the_series_of_a_definition_go_with_it(
    recorder: Recorder, clock: StillClock, how: str
) -> None:
    prove(recorder, migrating(), objects=100)
    recorder.hold_lease(CRD, is_held=False)
    if how == "deleted":
        recorder.forget(CRD)
    else:
        recorder.see(migrating(labels={}))

    named = {name for name, labels in series(scraped(recorder, clock)) if ("crd", CRD) in labels}

    left = set() if how == "deleted" else {"espalier_definition_stored_versions"}
    assert named == left


def test_a_definition_made_anew_under_the_same_name_begins_at_nothing(
    recorder: Recorder, clock: StillClock
) -> None:
    prove(recorder, migrating(), objects=100)
    recorder.see(migrating(uid="uid-2"))

    found = series(scraped(recorder, clock))

    assert value(found, "espalier_object_writes_total", crd=CRD, result="rewritten") == 0


def test_definitions_without_the_label_are_counted_and_not_named(
    recorder: Recorder, clock: StillClock
) -> None:
    recorder.see(definition_of("gadgets.example.com"))

    found = series(scraped(recorder, clock))

    assert value(found, "espalier_definitions", mode="off", structural="true") == 1
    named = {name for name, labels in found if ("crd", "gadgets.example.com") in labels}
    assert named == {"espalier_definition_stored_versions"}


def test_what_is_exposed_is_what_the_catalogue_lists(recorder: Recorder, clock: StillClock) -> None:
    prove(recorder, migrating(), objects=1)
    families = {
        family.name: family
        for family in text_string_to_metric_families(scraped(recorder, clock).decode())
        if family.name.startswith(OURS)
    }

    assert {name.removesuffix("_total") for name in families} == {
        one.name.removesuffix("_total") for one in CATALOGUE
    }
    for one in CATALOGUE:
        family = families[one.name.removesuffix("_total")]
        assert family.type == one.kind
        for sample in family.samples:
            assert {*sample.labels} - {"le"} == {*one.labels}, sample


@pytest.mark.parametrize("metric", CATALOGUE, ids=lambda one: one.name)
def test_names_follow_the_rules(metric: object) -> None:
    assert metric in CATALOGUE
    (one,) = [found for found in CATALOGUE if found is metric]
    assert re.fullmatch(r"[a-z][a-z0-9_]*", one.name)
    assert one.name.endswith("_total") == (one.kind == "counter")
    assert not {"object", "path", "message", "namespace", "name_of_object"} & {*one.labels}
    assert one.help.endswith(".")


def test_every_metric_is_documented() -> None:
    page = (ROOT / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `\w+` \| (?:gauge|counter|histogram) \|.*", page, re.MULTILINE)

    for one in CATALOGUE:
        labels = ", ".join(f"`{label}`" for label in one.labels)
        assert any(row.startswith(f"| `{one.name}` | {one.kind} | {labels} |") for row in rows), one
    documented = {name for row in rows for name in re.findall(r"^\| `(\w+)`", row)}
    assert documented == {one.name for one in CATALOGUE}


def test_a_thousand_definitions_are_few_series_and_few_bytes(clock: StillClock) -> None:
    all_labelled, few_labelled = Recorder(clock), Recorder(clock)
    for number in range(1000):
        name = f"somethings{number}.example.com"
        prove(all_labelled, migrating(name), objects=10)
        if number % 20:
            few_labelled.see(definition_of(name))
        else:
            prove(few_labelled, migrating(name), objects=10)

    all_text = scraped(all_labelled, clock)
    assert len(series(all_text)) < 20_000
    # As it is sent: Prometheus asks for gzip.
    assert len(gzip.compress(all_text, 1)) < 200_000
    assert len(scraped(few_labelled, clock)) < 200_000


def test_promtool_finds_nothing_to_correct(
    recorder: Recorder, clock: StillClock, tmp_path: Path
) -> None:
    prove(recorder, migrating(), objects=1)
    found = subprocess.run(
        [promtool(), "check", "metrics"],
        input=scraped(recorder, clock),
        capture_output=True,
        check=False,
        cwd=tmp_path,
    )

    assert (found.returncode, found.stdout + found.stderr) == (0, b"")
