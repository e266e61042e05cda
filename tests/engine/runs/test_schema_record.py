"""
What is known of a definition's schemas grows whatever hinders a run, and hinders nobody else.
"""

from collections.abc import Callable

import pytest

from espalier.crd import Definition, Version
from espalier.engine import Reason, RunOutcome, RunSettings, run
from espalier.paths import JSON
from tests.fakes.cluster import FakeCluster
from tests.fakes.faults import conflict
from tests.fakes.widgets import legacy_widgets, widgets

OBSERVE = {"espalier.dev/mode": "observe"}
ENFORCE = {"espalier.dev/mode": "enforce"}
CLOSED, OPEN = "22:00-23:00", "00:00-23:00"
SETTINGS = RunSettings(settle_seconds=0)
WRITES = ("acquire", "release", "rewrite", "replace", "annotate", "set_stored_versions")


def versions(*fields: str) -> tuple[Version, ...]:
    texts: dict[str, JSON] = {name: {"type": "string"} for name in fields}
    schema: dict[str, JSON] = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": texts}},
    }
    return (Version(name="v1", served=True, storage=True, schema=schema),)


def one_version(**changes: object) -> Definition:
    return widgets(**({"versions": versions("kept"), "stored_versions": ("v1",)} | changes))


async def run_on(cluster: FakeCluster, settings: RunSettings = SETTINGS) -> RunOutcome:
    assert cluster.definition is not None
    return await run(cluster.definition, cluster.ports, settings, cluster)


def specified(cluster: FakeCluster) -> set[str]:
    document = cluster.documents["crd-1"]
    record = document["record"]
    assert isinstance(record, dict)
    by_version = record["specified"]
    assert isinstance(by_version, dict)
    listed = [paths for paths in by_version.values() if isinstance(paths, list)]
    assert len(listed) == len(by_version)
    return {str(path) for paths in listed for path in paths}


async def come_and_go(cluster: FakeCluster, reason: Reason, settings: RunSettings) -> None:
    """
    Add a field, have an object written with it, and drop it, while nothing may be written.
    """
    cluster.change(versions=versions("kept", "brief"))
    assert (await run_on(cluster, settings)).reason == reason
    # Written by somebody whose managedFields were taken off: only the record can tell.
    cluster.put("a", {"spec": {"kept": "x", "brief": "y"}}, version="v1", managed=None)
    cluster.change(versions=versions("kept"))
    assert (await run_on(cluster, settings)).reason == reason


def window(cluster: FakeCluster, *, is_open: bool) -> None:
    cluster.change(annotations={"espalier.dev/window": OPEN if is_open else CLOSED})


def grants(cluster: FakeCluster, *, is_open: bool) -> None:
    cluster.missing = () if is_open else ("patch widgets",)


def mode(cluster: FakeCluster, *, is_open: bool) -> None:
    cluster.change(labels=ENFORCE if is_open else OBSERVE)


def nothing(cluster: FakeCluster, *, is_open: bool) -> None:
    del cluster, is_open


@pytest.mark.parametrize("is_proved_before", [True, False])
@pytest.mark.parametrize(
    ("hinder", "reason", "is_read_only"),
    [
        (window, Reason.OUTSIDE_WINDOW, False),
        (grants, Reason.FORBIDDEN, False),
        (mode, Reason.OBSERVED, False),
        (nothing, Reason.OBSERVED, True),
    ],
    ids=["window", "rights", "observe", "read-only"],
)
async def test_a_field_that_came_and_went_while_nothing_was_written_is_known(
    hinder: Callable[..., None], reason: Reason, *, is_read_only: bool, is_proved_before: bool
) -> None:
    hindered = RunSettings(settle_seconds=0, is_read_only=is_read_only)

    cluster = FakeCluster(one_version())
    if is_proved_before or reason is Reason.OBSERVED:
        # Of a definition that was never to be enforced nothing is kept.
        assert (await run_on(cluster)).is_proved
    hinder(cluster, is_open=False)
    await come_and_go(cluster, reason, hindered)
    hinder(cluster, is_open=True)

    assert (await run_on(cluster)).reason == Reason.WOULD_LOSE_DATA
    assert cluster.raw("a")["spec"] == {"kept": "x", "brief": "y"}


@pytest.mark.parametrize("make", [legacy_widgets, widgets])
async def test_observing_takes_no_lease_whatever_is_known_before(
    make: Callable[..., Definition],
) -> None:
    cluster = FakeCluster(make())
    assert (await run_on(cluster)).is_proved
    for schema in (versions("other"), versions("another")):
        cluster.change(labels=OBSERVE, versions=schema, stored_versions=("v1",))
        cluster.calls.clear()
        assert (await run_on(cluster)).reason == Reason.OBSERVED
        assert cluster.count(*WRITES) == 0
        assert cluster.count("save") == 1
    assert {".spec.other", ".spec.another"} <= specified(cluster)
    cluster.calls.clear()
    await run_on(cluster)
    assert cluster.count("save") == 0


async def test_a_legacy_definition_that_is_only_observed_gets_a_record_and_no_lease() -> None:
    cluster = FakeCluster(legacy_widgets(labels=OBSERVE))
    assert (await run_on(cluster)).reason == Reason.OBSERVED
    assert cluster.count(*WRITES) == 0
    assert ".**" in specified(cluster)


async def test_of_a_definition_that_is_only_observed_no_record_is_begun() -> None:
    cluster = FakeCluster(widgets(labels=OBSERVE))
    assert (await run_on(cluster)).reason == Reason.OBSERVED
    assert cluster.documents == {}


async def test_a_run_that_writes_at_that_moment_keeps_all_it_has_saved() -> None:
    cluster = FakeCluster(one_version(labels=ENFORCE))
    assert (await run_on(cluster)).is_proved
    cluster.change(labels=OBSERVE, versions=versions("kept", "new"))
    theirs: dict[str, JSON] = {"phase": "rewrite", "token": "default/w", "key": "theirs"}

    def overtake(call: str, _: str) -> None:
        if call == "save" and cluster.count("save") == 1:
            cluster.documents["crd-1"] = {**cluster.documents["crd-1"], **theirs}

    cluster.calls.clear()
    cluster.hooks.append(overtake)
    cluster.fail("save", conflict())

    assert (await run_on(cluster)).reason == Reason.OBSERVED

    assert cluster.count("save") == 2
    assert cluster.documents["crd-1"].items() >= theirs.items()
    assert ".spec.new" in specified(cluster)


async def test_a_record_that_cannot_be_saved_hinders_no_survey(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    cluster = FakeCluster(legacy_widgets(labels=OBSERVE))
    cluster.fail("save", conflict(), times=99)
    assert (await run_on(cluster)).reason == Reason.OBSERVED
    assert cluster.count("save") < 10
    assert "Could not take note of a schema." in caplog.messages
