"""
A run stops within a second of a label's change, and at the end of its time window.

Times come from the API server's audit log, so that nothing depends on when the test looks.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.e2e.conftest import MakeCrd, StartOperator
from tests.e2e.controlplane.api import CRDS
from tests.e2e.controlplane.auditing import Request
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import CURRENT, GROUP, Crd, schema, version
from tests.e2e.operating import is_ours
from tests.e2e.waiting import eventually, throughout
from tests.patience import PACE

pytestmark = pytest.mark.e2e

COUNT = 1500
SIZE = {"size": {"type": "integer"}}
VERSIONS = [version("v1alpha1", schema(SIZE)), version("v1", schema(SIZE))]
PROMPT_SECONDS = 1.0

# Otherwise a fast machine finishes before the label can change.
PACED = {"max_writes_per_second": 120, "page_size": 100}


def flipped(crd: Crd, count: int = COUNT) -> None:
    crd.create(VERSIONS, storage="v1alpha1")
    crd.add(
        "v1alpha1", *(crd.object("v1alpha1", f"o{n:04}", spec={"size": n}) for n in range(count))
    )
    crd.set_versions(VERSIONS, storage="v1")


def written(crd: Crd, mark: dict[Path, int]) -> list[Request]:
    """
    Return Espalier's writes on a CRD's objects after a mark, in the order of the responses.
    """
    return [
        request
        for request in crd.plane.audit.requests(mark)
        if is_ours(request)
        and request.is_mutating
        and request.group == crd.group
        and request.resource.partition("/")[0] == crd.plural
        and "dryRun" not in request.path
    ]


def until_under_way(crd: Crd, mark: dict[Path, int]) -> None:
    def under_way() -> None:
        assert len(written(crd, mark)) > 50

    eventually(under_way)


def labelled_at(crd: Crd, mark: dict[Path, int]) -> datetime:
    """
    Return the time of the response to an administrator's last change of a CRD.
    """
    return max(
        request.answered
        for request in crd.plane.audit.requests(mark)
        if (request.user, request.verb, request.name) == ("admin", "patch", crd.name)
    )


def prompt() -> timedelta:
    """
    Return how late a last write may be: a second, on a machine that is not slow.
    """
    return timedelta(seconds=PACE.scaled(PROMPT_SECONDS))


def check_pause(crd: Crd, mode: str | None) -> None:
    """
    Change the mode during a run, and compare the server's times of the change and the last write.
    """
    begun = crd.plane.audit.mark()
    crd.label(mode="enforce")
    until_under_way(crd, begun)
    mark = crd.plane.audit.mark()

    crd.label(mode=mode)

    def said() -> None:
        found = crd.condition(CURRENT)
        if mode is None:
            assert found is None
        else:
            assert found is not None
            assert found["reason"] == "Observed"

    eventually(said)
    stopped = crd.stored_at()
    assert stopped["v1"] < COUNT

    def nothing_moves() -> None:
        assert crd.stored_at() == stopped

    throughout(nothing_moves, seconds=2)
    switched, grace = labelled_at(crd, mark), prompt()
    late = [r.received - switched for r in written(crd, mark) if r.received > switched + grace]
    assert late == []


@pytest.mark.parametrize("mode", ["observe", None])
def test_a_run_stops_within_a_second_of_the_label(
    crd: MakeCrd, start_operator: StartOperator, mode: str | None
) -> None:
    start_operator(**PACED)
    pipes = crd("pipes")
    flipped(pipes)
    check_pause(pipes, mode)
    pipes.label(mode="enforce")
    pipes.wait_until_current(within_seconds=60)
    assert pipes.stored_at() == {"v1": COUNT}


@pytest.mark.timeout(300)
def test_a_window_opens_and_closes_in_mid_run(crd: MakeCrd, start_operator: StartOperator) -> None:
    gates = crd("gates")
    flipped(gates)
    slow = start_operator(max_writes_per_second=15, page_size=100)
    # The next full minute that is not too close, and its end.
    opens = (gates.plane.api.time() + timedelta(seconds=75)).replace(second=0, microsecond=0)
    closes = opens + timedelta(minutes=1)
    annotation = {"espalier.dev/window": f"{opens:%H:%M}-{closes:%H:%M}"}
    gates.plane.api.merge(gates.path, {"metadata": {"annotations": annotation}})
    mark = gates.plane.audit.mark()

    gates.label(mode="enforce")
    gates.wait_for(CURRENT, "False", "OutsideWindow")
    gates.wait_for(CURRENT, "False", "Rewriting", within_seconds=90)
    gates.wait_for(CURRENT, "False", "OutsideWindow", within_seconds=90)

    stopped = gates.stored_at()
    assert 0 < stopped["v1"] < COUNT

    def nothing_moves() -> None:
        assert gates.stored_at() == stopped

    throughout(nothing_moves, seconds=2)
    times = [request.received for request in written(gates, mark)]
    assert opens <= min(times)
    assert max(times) <= closes + prompt()
    assert gates.stored_versions() == ["v1alpha1", "v1"]

    assert slow.stop() == 0
    start_operator()
    gates.plane.api.merge(gates.path, {"metadata": {"annotations": dict.fromkeys(annotation)}})
    gates.wait_until_current(within_seconds=60)
    assert gates.stored_at() == {"v1": COUNT}


@pytest.fixture
def crowd(control_plane: ControlPlane) -> Iterator[int]:
    """
    Two hundred definitions without labels.
    """
    names = [f"crowd{number:03}s" for number in range(200)]
    control_plane.api.create_many(CRDS, (_bystander(name) for name in names))
    yield len(names)
    control_plane.api.call("DELETE", f"{CRDS}?labelSelector=crowd%3Dyes")

    def gone() -> None:
        assert control_plane.api.get(f"{CRDS}?labelSelector=crowd%3Dyes")["items"] == []

    eventually(gone, within_seconds=90)


def _bystander(plural: str) -> dict[str, object]:
    kind = plural.title()
    names = {"plural": plural, "singular": plural[:-1], "kind": kind, "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}", "labels": {"crowd": "yes"}},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": names,
            "versions": [version("v1", schema(SIZE), storage=True)],
        },
    }


@pytest.mark.timeout(240)
def test_a_run_stops_within_a_second_while_all_definitions_are_read_anew(
    crd: MakeCrd, start_operator: StartOperator, crowd: int
) -> None:
    tubes = crd("tubes")
    flipped(tubes)
    # The next round begins as soon as the last one has ended.
    start_operator(**PACED, resync_seconds=1)
    mark = tubes.plane.audit.mark()
    check_pause(tubes, "observe")

    read = {
        request.name
        for request in tubes.plane.audit.requests(mark)
        if is_ours(request) and (request.verb, request.resource) == ("get", CRDS.rpartition("/")[2])
    }
    assert len(read) > crowd // 2
