"""
What a run asks for before it writes anything, and what it says if that is not granted.
"""

from dataclasses import replace

import pytest

from espalier.crd import Definition
from espalier.engine import Reason, RunOutcome, RunSettings, plan, read_policy, run
from espalier.engine.policy.plan import Stop
from espalier.engine.runs.permissions import (
    ARCHIVES,
    CHECKPOINTS,
    DEFINITIONS,
    LEASES,
    Need,
    needs_of,
)
from tests.fakes.cluster import FakeCluster
from tests.fakes.widgets import legacy_widgets, widgets
from tests.manifests.test_manifests import find, granted

SPACE = "espalier-system"
SETTINGS = RunSettings(settle_seconds=0)
KEPT = (
    Need(LEASES, ("get", "create", "patch"), SPACE),
    Need(CHECKPOINTS, ("get", "create", "update"), SPACE),
)
ARCHIVED = Need(ARCHIVES, ("get", "list", "create"), SPACE)
TRIMS = Need(DEFINITIONS, ("patch/status",), name="widgets.example.com")


def asked(definition: Definition, **labels: str) -> Definition:
    named = {f"espalier.dev/{name.replace('_', '-')}": text for name, text in labels.items()}
    return replace(definition, labels={**definition.labels, **named})


def within(definition: Definition, names: str = "a,b") -> Definition:
    return replace(definition, annotations={"espalier.dev/namespaces": names})


def needs(definition: Definition, *, only_failed: bool = False) -> tuple[Need, ...]:
    planned = plan(definition, read_policy(definition))
    assert not isinstance(planned, Stop)
    return needs_of(
        planned,
        namespace=SPACE,
        secret_verbs=("get", "list", "create"),
        only_failed=only_failed,
    )


def on_objects(verbs: str, namespace: str = "", of: Definition | None = None) -> Need:
    planned = plan(of or widgets(), read_policy(of or widgets()))
    assert not isinstance(planned, Stop)
    return Need(planned.resource, tuple(verbs.split()), namespace)


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        (widgets(), (on_objects("get list patch"), *KEPT, TRIMS)),
        (
            within(widgets()),
            (on_objects("get list patch", "a"), on_objects("get list patch", "b"), *KEPT),
        ),
        (asked(widgets(), migrate="false"), (on_objects("get list patch"), *KEPT)),
        (
            asked(widgets(), migrate="false", annotate="false"),
            (on_objects("get list"), *KEPT),
        ),
        (asked(widgets(), skip_owned="true"), (on_objects("get list patch"), *KEPT, TRIMS)),
        (
            legacy_widgets(),
            (
                on_objects("get list patch update update/status"),
                on_objects("watch"),
                *KEPT,
                TRIMS,
                ARCHIVED,
            ),
        ),
        (
            within(legacy_widgets(), "a"),
            (
                on_objects("get list patch update update/status", "a"),
                on_objects("list watch"),
                *KEPT,
                ARCHIVED,
            ),
        ),
        (
            asked(legacy_widgets(), prune="false"),
            (on_objects("get list patch"), *KEPT, TRIMS),
        ),
        (
            asked(legacy_widgets(), migrate="false"),
            (
                on_objects("get list patch update update/status"),
                on_objects("watch"),
                *KEPT,
                ARCHIVED,
            ),
        ),
    ],
    ids=[
        "all",
        "namespaces",
        "migrate=false",
        "nothing written",
        "skip-owned",
        "legacy",
        "legacy, namespaces",
        "legacy, prune=false",
        "legacy, migrate=false",
    ],
)
def test_what_a_run_needs(definition: Definition, expected: tuple[Need, ...]) -> None:
    assert needs(definition) == expected


def test_what_failed_is_tried_again_without_the_right_to_trim() -> None:
    assert needs(widgets(), only_failed=True) == (on_objects("get list patch"), *KEPT)


def test_all_that_is_kept_is_granted_where_it_is_kept_and_nothing_else() -> None:
    kept = {
        str(need.resource).rstrip("."): set(need.verbs)
        for need in needs(legacy_widgets())
        if need.namespace == SPACE
    }
    assert kept == granted(find("Role", "espalier"))


async def run_on(cluster: FakeCluster, settings: RunSettings = SETTINGS) -> RunOutcome:
    assert cluster.definition is not None
    return await run(cluster.definition, cluster.ports, settings, cluster)


async def told(definition: Definition, *missing: str) -> str:
    cluster = FakeCluster(definition)
    cluster.fill(2)
    cluster.missing = missing
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.FORBIDDEN
    assert cluster.count("acquire", "rewrite", "try_rewrite", "archive") == 0
    return outcome.conditions[0].message


async def test_in_namespaces_a_role_is_enough_and_each_that_lacks_it_is_named() -> None:
    message = await told(
        within(widgets(), "a,b,c"), "patch widgets in b", "list widgets in c", "patch widgets in c"
    )
    assert message == (
        "the operator may not patch, list widgets.example.com in 2 namespaces: b, c. Grant it:"
        " for namespace in b c; do kubectl create role espalier-widgets.example.com"
        " --namespace=$namespace --verb=get,list,patch --resource=widgets.example.com;"
        " kubectl create rolebinding espalier-widgets.example.com --namespace=$namespace"
        " --role=espalier-widgets.example.com --serviceaccount=espalier-system:espalier; done"
    )


async def test_a_role_is_enough_for_a_run_in_namespaces() -> None:
    cluster = FakeCluster(within(widgets(), "default"))
    cluster.fill(2)
    cluster.missing = (
        "get widgets",
        "list widgets",
        "patch widgets",
        "patch/status customresourcedefinitions",
    )
    assert (await run_on(cluster)).reason == Reason.PARTIAL
    assert "v1alpha1" not in str(cluster.raw("w000"))


async def test_a_survey_of_namespaces_asks_for_these_alone() -> None:
    definition = within(widgets(labels={"espalier.dev/mode": "observe"}))
    cluster = FakeCluster(definition)
    cluster.missing = ("list widgets",)
    assert (await run_on(cluster)).reason == Reason.OBSERVED
    assert cluster.rights == [
        "get widgets in a",
        "list widgets in a",
        "get widgets in b",
        "list widgets in b",
        "get configmaps in espalier-system",
    ]


async def test_the_watch_of_a_legacy_definition_is_asked_for_in_all_namespaces() -> None:
    message = await told(
        within(legacy_widgets(), "a"), "watch widgets", "update/status widgets in a"
    )
    assert message.startswith("the operator may not watch widgets.example.com. Grant it: kubectl")
    assert "may not update/status widgets.example.com in 1 namespace: a." in message
    assert (
        "--verb=get,list,patch,update --resource=widgets.example.com,widgets.example.com/status;"
        in message
    )


@pytest.mark.parametrize(
    ("missing", "named"),
    [
        (
            "create leases in espalier-system",
            "create leases.coordination.k8s.io in the namespace espalier-system",
        ),
        (
            "update configmaps in espalier-system",
            "update configmaps in the namespace espalier-system",
        ),
        ("create secrets in espalier-system", "create secrets in the namespace espalier-system"),
    ],
)
async def test_what_the_manifests_grant_is_asked_for_too(missing: str, named: str) -> None:
    assert await told(legacy_widgets(), missing) == (
        f"the operator may not {named}. Apply Espalier's manifests again:"
        " kubectl apply -k manifests"
    )


async def test_the_status_of_the_definition_alone_is_asked_for() -> None:
    assert await told(widgets(), "patch/status customresourcedefinitions") == (
        "the operator may not patch/status customresourcedefinitions.apiextensions.k8s.io"
        " widgets.example.com."
        " Grant it: espalier rbac widgets.example.com | kubectl apply -f -"
    )


async def test_an_archive_in_a_folder_needs_no_secrets() -> None:
    cluster = FakeCluster(legacy_widgets())
    cluster.archives_in_secrets = False
    assert (await run_on(cluster)).is_proved
    assert not [right for right in cluster.rights if "secrets" in right]


async def test_all_that_is_missing_is_reported_at_once() -> None:
    message = await told(
        widgets(),
        "patch widgets",
        "get leases in espalier-system",
        "create configmaps in espalier-system",
    )
    assert "may not patch widgets.example.com. Grant it" in message
    assert (
        "may not get leases.coordination.k8s.io in the namespace espalier-system;"
        " create configmaps in the namespace espalier-system. Apply"
    ) in message


async def test_of_many_namespaces_the_message_has_a_bound() -> None:
    names = [f"n{number:04d}" for number in range(400)]
    message = await told(
        within(widgets(), ",".join(names)), *(f"get widgets in {n}" for n in names)
    )
    assert "in 400 namespaces: n0000, n0001, n0002, n0003, n0004 and 395 more. Grant" in message
    assert message.endswith("; done")
