"""
A rehearsal is the run on ports that keep nothing: what it reports, the run on the same state does.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import example, given, settings
from hypothesis import strategies as st

from espalier.crd import Definition
from espalier.engine import RunOutcome, RunSettings, rehearsed, run
from espalier.errors import ConversionError, ForbiddenError, LeaseLostError, NamespaceGoneError
from espalier.paths import JSON
from tests.engine.runs.pruned import a_cluster
from tests.fakes.cluster import FakeCluster
from tests.fakes.faults import rejected
from tests.fakes.widgets import ENFORCE, WIDGETS, legacy_widgets, widgets
from tests.virtual_time import play

ALWAYS = 10**6
KINDS = ("fine", "current", "broken", "refused", "rejected", "lossy", "unknown", "terminating")
DENIED = (
    "patch widgets",
    "list widgets",
    "patch/status customresourcedefinitions",
    "create leases in espalier-system",
    "create configmaps in espalier-system",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """
    What a dry run may meet.
    """

    is_legacy: bool = False
    is_converted: bool = False
    objects: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    trouble: str = ""
    names_broken: bool = True


def _home_is_gone(cluster: FakeCluster) -> None:
    error = NamespaceGoneError(
        verb="create", resource="configmaps", status=404, reason="NotFound", namespace="gone"
    )
    cluster.fail("save", error, times=ALWAYS)
    cluster.fail("acquire", error, times=ALWAYS)


def _webhook_is_away(cluster: FakeCluster) -> None:
    error = ConversionError(verb="list", resource=WIDGETS, status=500, detail="service not found")
    for call in ("list_objects", "get_object", "list_metadata"):
        cluster.fail(call, error, times=ALWAYS)


def _lease_is_held(cluster: FakeCluster) -> None:
    cluster.fail("acquire", LeaseLostError("widgets", "another"), times=ALWAYS)


def _admission_mutates(cluster: FakeCluster) -> None:
    def mutate(obj: dict[str, JSON]) -> None:
        spec = obj.get("spec")
        if isinstance(spec, dict):
            spec["size"] = 99

    cluster.admission = mutate


def _server_migrates(cluster: FakeCluster) -> None:
    cluster.migrations = ("theirs",)


def _trim_is_forbidden(cluster: FakeCluster) -> None:
    error = ForbiddenError(verb="patch", resource=WIDGETS, status=403, reason="Forbidden")
    cluster.fail("set_stored_versions", error, times=ALWAYS)


TROUBLES: dict[str, Callable[[FakeCluster], None]] = {
    "home": _home_is_gone,
    "webhook": _webhook_is_away,
    "lease": _lease_is_held,
    "admission": _admission_mutates,
    "server": _server_migrates,
    "trim": _trim_is_forbidden,
}

STATES = st.builds(
    State,
    is_legacy=st.booleans(),
    is_converted=st.booleans(),
    objects=st.lists(st.sampled_from(KINDS), max_size=6).map(tuple),
    denied=st.lists(st.sampled_from(DENIED), max_size=1).map(tuple),
    trouble=st.sampled_from(["", "", "", *TROUBLES]),
    names_broken=st.booleans(),
)


def made(state: State) -> FakeCluster:
    conversion = "Webhook" if state.is_converted and not state.is_legacy else "None"
    definition = (legacy_widgets if state.is_legacy else widgets)(conversion=conversion)
    cluster = FakeCluster(definition)
    cluster.names_broken = state.names_broken
    cluster.missing = state.denied
    for number, kind in enumerate(state.objects):
        _put(cluster, definition, f"{kind}-{number}", kind)
    if state.trouble:
        TROUBLES[state.trouble](cluster)
    return cluster


def _put(cluster: FakeCluster, definition: Definition, name: str, kind: str) -> None:
    spec: dict[str, JSON] = {"size": 1}
    if kind in ("lossy", "unknown"):
        spec["gone"] = 1
    at = "v1" if kind == "current" or definition.preserve_unknown_fields else "v1alpha1"
    managed = {"lossy": ("size", "gone"), "unknown": None}.get(kind, ("size",))
    stored = cluster.etcd[cluster.put(name, {"spec": spec}, version=at, managed=managed)]
    stored.is_broken = kind == "broken"
    stored.is_terminating = kind == "terminating"
    stored.refusal = "a number is needed" if kind == "refused" else ""
    if kind == "rejected":
        text = "spec.size: Invalid value: must be odd"
        for call in ("rewrite", "replace", "try_rewrite"):
            cluster.fail(call, rejected(text, text), name=name, times=ALWAYS)


async def run_on(cluster: FakeCluster) -> RunOutcome:
    assert cluster.definition is not None
    chosen = RunSettings(settle_seconds=30, page_size=3, is_rehearsal=cluster.is_dry)
    ports = rehearsed(cluster.ports) if cluster.is_dry else cluster.ports
    return await run(cluster.definition, ports, chosen, cluster)


def kept(cluster: FakeCluster) -> object:
    # A definition is frozen.
    return cluster.definition, copy.deepcopy(
        (cluster.etcd, cluster.documents, cluster.archived, cluster.holder)
    )


def told(outcome: RunOutcome) -> object:
    failed = outcome.totals.failed if outcome.totals else ()
    return outcome.reason, outcome.is_proved, sorted(str(key) for key, _ in failed)


@settings(deadline=None, max_examples=150)
@given(STATES)
# An object that one write leaves in doubt is tried once more, but not twice at the same time.
@example(State(objects=("rejected", "unknown")))
def test_what_a_rehearsal_reports_the_run_does(state: State) -> None:
    cluster = made(state)
    before = kept(cluster)
    cluster.is_dry = True
    rehearsal = play(run_on(cluster))
    assert kept(cluster) == before

    outcome = play(run_on(made(state)))
    assert told(rehearsal) == told(outcome)
    # Of a legacy definition, what was rehearsed is met again by the verify pass, and counted.
    if not outcome.is_proved and not state.is_legacy:
        assert rehearsal.conditions[0].message == outcome.conditions[0].message


async def test_a_rehearsal_of_a_run_that_would_be_proved_keeps_nothing() -> None:
    cluster = a_cluster()
    before = kept(cluster)
    cluster.is_dry = True

    outcome = await run_on(cluster)

    assert outcome.is_proved
    assert kept(cluster) == before
    assert cluster.definition is not None
    assert cluster.definition.labels == ENFORCE
    # The settle time is not waited for.
    assert cluster.clock.monotonic_seconds() < 30.0
