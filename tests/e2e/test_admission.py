"""
Admission that changes or denies rewrites, and two operators at the same time.
"""

import base64
import http
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.admissions import SIZE, Post, flipped, in_force, rules
from tests.e2e.conftest import MakeCrd, StartOperator
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import CURRENT, schema, version
from tests.e2e.older_servers import minor_of
from tests.e2e.operating import espalier, is_ours
from tests.e2e.waiting import eventually
from tests.e2e.webhooks import Document, Webhook, admitting

pytestmark = pytest.mark.e2e

MUTATING_POLICIES_SINCE = 36


def test_a_mutating_admission_policy_stops_the_run_before_the_first_write(
    crd: MakeCrd, start_operator: StartOperator, admission: Post
) -> None:
    shelves = crd("shelves")
    minor = minor_of(shelves.plane.api)
    if minor < MUTATING_POLICIES_SINCE:
        pytest.skip(f"Kubernetes 1.{minor} has no such policies: unset KUBEBUILDER_ASSETS")
    flipped(shelves, "a", "b")
    before = shelves.raw()
    change = '[JSONPatch{op: "add", path: "/spec/size", value: 7}]'
    policy = admission(
        "mutatingadmissionpolicies",
        "MutatingAdmissionPolicy",
        "grow-shelves",
        {
            "spec": {
                "failurePolicy": "Fail",
                "reinvocationPolicy": "Never",
                "matchConstraints": {"resourceRules": rules(shelves)},
                "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": change}}],
            }
        },
    )
    binding = admission(
        "mutatingadmissionpolicybindings",
        "MutatingAdmissionPolicyBinding",
        "grow-shelves",
        {"spec": {"policyName": "grow-shelves"}},
    )
    in_force(shelves, "a", lambda seen: seen.get("spec") == {"size": 7})
    start_operator()

    shelves.label(mode="enforce")
    stopped = shelves.wait_for(CURRENT, "False", "AdmissionMutates")

    assert "spec.size" in stopped["message"]
    assert shelves.raw() == before

    shelves.plane.api.delete(binding)
    shelves.plane.api.delete(policy)
    shelves.wait_until_current(within_seconds=90)
    assert {obj["spec"]["size"] for obj in shelves.stored().values()} == {1}


@pytest.fixture
def webhook(tmp_path: Path) -> Iterator[Webhook]:
    """
    A webhook that denies every update of the object `bad`.
    """

    def admit(request: Document) -> Document:
        if request["name"] != "bad":
            return {"allowed": True}
        return {"allowed": False, "status": {"message": "not on my watch", "code": 403}}

    served = Webhook(tmp_path / "webhook", admitting(admit))
    yield served
    served.close()


def test_an_object_that_a_webhook_denies_always_is_named_and_the_rest_is_done(
    crd: MakeCrd, start_operator: StartOperator, admission: Post, webhook: Webhook
) -> None:
    hooks = crd("hooks")
    flipped(hooks, "bad", "good", "better")
    admission(
        "validatingwebhookconfigurations",
        "ValidatingWebhookConfiguration",
        "guard-hooks",
        {
            "webhooks": [
                {
                    "name": "guard.e2e.example.com",
                    "admissionReviewVersions": ["v1"],
                    "sideEffects": "None",
                    "failurePolicy": "Fail",
                    "rules": rules(hooks),
                    "clientConfig": webhook.client_config(),
                }
            ]
        },
    )
    in_force(hooks, "bad", lambda seen: "not on my watch" in seen.get("refused", ""))
    start_operator()

    hooks.label(mode="enforce")
    failed = hooks.wait_for(CURRENT, "False", "Failed")

    words = '403 Forbidden, denied by admission webhook "guard.e2e.example.com"'
    assert f"1 object: {words} (default/bad)" in failed["message"]
    command = ("migrate", hooks.name, "--yes", "--settle-seconds", "0", "-o", "json")
    (item,) = json.loads(espalier(hooks.plane, *command, code=4))["items"]
    assert item["failed"] == [{"namespace": "default", "name": "bad", "cause": words}]
    assert (item["objects"]["rejected"], item["objects"]["unchanged"]) == (1, 2)
    assert hooks.stored_at() == {"v1alpha1": 1, "v1": 2}
    assert hooks.stored_versions() == ["v1alpha1", "v1"]


def test_a_webhook_that_takes_no_dry_runs_is_unknown_and_the_run_goes_on(
    crd: MakeCrd, start_operator: StartOperator, admission: Post, webhook: Webhook
) -> None:
    locks = crd("locks")
    flipped(locks, "a", "b")
    admission(
        "validatingwebhookconfigurations",
        "ValidatingWebhookConfiguration",
        "count-locks",
        {
            "webhooks": [
                {
                    "name": "count.e2e.example.com",
                    "admissionReviewVersions": ["v1"],
                    "sideEffects": "None",
                    "failurePolicy": "Fail",
                    "rules": rules(locks),
                    "clientConfig": webhook.client_config(),
                }
            ]
        },
    )
    # No server accepts such a webhook any more, but those created through v1beta1 still exist.
    etcd, key = locks.plane.etcd, "/registry/validatingwebhookconfigurations/count-locks"
    stored = etcd.get(key)
    assert stored is not None
    assert stored.count(b"None") == 1
    etcd.put(key, stored.replace(b"None", b"Some"))
    refusal = 'admission webhook "count.e2e.example.com" does not support dry run'
    in_force(locks, "a", lambda seen: refusal in seen.get("refused", ""))
    start_operator()

    locks.label(mode="enforce")
    message = locks.wait_until_current(within_seconds=90)["message"]

    assert (
        "Admission could not be sampled, so what it changes is not known: admission webhook"
        ' "count.e2e.example.com" does not support dry runs'
    ) in message
    assert locks.stored_at() == {"v1": 2}
    assert locks.stored_versions() == ["v1"]
    assert webhook.requests > 0


def test_what_a_webhook_changes_in_real_writes_only_stops_the_run(
    crd: MakeCrd, start_operator: StartOperator, admission: Post, tmp_path: Path
) -> None:
    vaults = crd("vaults")
    flipped(vaults, *(f"v{number:03}" for number in range(60)))
    grow = json.dumps([{"op": "replace", "path": "/spec/size", "value": 4711}]).encode()

    def admit(request: Document) -> Document:
        if request["dryRun"] or request["name"] < "v020":
            return {"allowed": True}
        patch = base64.b64encode(grow).decode()
        return {"allowed": True, "patchType": "JSONPatch", "patch": patch}

    served = Webhook(tmp_path / "mutating", admitting(admit))
    try:
        path = admission(
            "mutatingwebhookconfigurations",
            "MutatingWebhookConfiguration",
            "grow-vaults",
            {
                "webhooks": [
                    {
                        "name": "grow.e2e.example.com",
                        "admissionReviewVersions": ["v1"],
                        "sideEffects": "NoneOnDryRun",
                        "failurePolicy": "Fail",
                        "rules": rules(vaults),
                        "clientConfig": served.client_config(),
                    }
                ]
            },
        )
        seen_before = served.requests

        def is_in_force() -> None:
            in_force(vaults, "v000", lambda seen: "metadata" in seen)
            assert served.requests > seen_before

        eventually(is_in_force)
        start_operator(max_in_flight=1)

        vaults.label(mode="enforce")
        stopped = vaults.wait_for(CURRENT, "False", "AdmissionMutates", within_seconds=60)

        assert "the rewrite of default/v020 changed more than the schema does" in stopped["message"]
        assert "4711" not in stopped["message"]
        changed = [n for n, obj in vaults.stored().items() if obj["spec"] != {"size": 1}]
        assert changed == ["v020"]
        assert vaults.stored_versions() == ["v1alpha1", "v1"]
        vaults.label(mode="off")
        vaults.plane.api.delete(path)
        vaults.label(mode="enforce")
        vaults.wait_until_current(within_seconds=90)
    finally:
        served.close()


def test_what_the_schema_changes_is_not_taken_for_admission(
    crd: MakeCrd, start_operator: StartOperator
) -> None:
    item = {"port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}}
    filled = {
        **SIZE,
        "color": {"type": "string", "default": "red"},
        "note": {"type": "string"},
        "ports": {"type": "array", "items": {"type": "object", "properties": item}},
        "keyed": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["port"],
            "items": {"type": "object", "required": ["port"], "properties": item},
        },
        "nested": {
            "type": "object",
            "default": {},
            "properties": {"deep": {"default": 1} | SIZE["size"]},
        },
    }
    bare = {
        **SIZE,
        "note": {"type": "string", "nullable": True},
        "ports": {
            "type": "array",
            "items": {"type": "object", "properties": {"port": SIZE["size"]}},
        },
        "keyed": {
            "type": "array",
            "items": {"type": "object", "properties": {"port": SIZE["size"]}},
        },
    }
    moats = crd("moats")
    moats.create(
        [version("v1alpha1", schema(bare)), version("v1", schema(bare))], storage="v1alpha1"
    )
    specs: dict[str, Document] = {
        "plain": {"size": 1},
        "null": {"size": 1, "note": None},
        "listed": {"ports": [{"port": 1}, {"port": 2}], "keyed": [{"port": 3}]},
        "number": {"size": 3.0},
    }
    moats.add(
        "v1alpha1", *(moats.object("v1alpha1", name, spec=one) for name, one in specs.items())
    )
    moats.add("v1alpha1", moats.object("v1alpha1", "untracked", spec={"size": 1}))
    path = f"{moats.objects_path('v1')}/untracked"
    moats.plane.api.merge(path, {"metadata": {"managedFields": [{}]}})
    moats.set_versions(
        [version("v1alpha1", schema(bare)), version("v1", schema(filled))], storage="v1"
    )
    start_operator()

    moats.label(mode="enforce")
    # The lists, and the object without managedFields, may hide something.
    lossy = moats.wait_for(CURRENT, "False", "WouldLoseData", within_seconds=60)
    moats.label(loss=lossy["message"].partition("espalier.dev/loss=")[2].split()[0])
    moats.wait_until_current(within_seconds=90)

    stored = {name: obj["spec"] for name, obj in moats.stored().items()}
    assert stored["listed"]["keyed"] == [{"port": 3, "protocol": "TCP"}]
    assert stored["null"] == {"size": 1, "color": "red", "nested": {"deep": 1}}
    generations = {n: obj["metadata"]["generation"] for n, obj in moats.stored().items()}
    assert generations == dict.fromkeys([*specs, "untracked"], 2)


# With another number of buckets than the first operator, so that neither waits for the other: the
# Lease of the definition is all that keeps them apart.
SPLIT = {"buckets": 2}


def test_two_operators_at_once_do_the_work_of_one(
    crd: MakeCrd, control_plane: ControlPlane, start_operator: StartOperator
) -> None:
    names = [f"d{number:03}" for number in range(300)]
    doors = crd("doors")
    flipped(doors, *names)
    mark = control_plane.audit.mark()
    first, second = start_operator(), start_operator(**SPLIT)

    doors.label(mode="enforce")
    doors.wait_until_current(within_seconds=90)

    assert doors.stored_at() == {"v1": 300}
    ours: list[Any] = [r for r in control_plane.audit.requests(mark) if is_ours(r)]
    trims = [
        request
        for request in ours
        if request.name == doors.name and "storedVersions" in (request.body or {}).get("status", {})
    ]
    # A trim that meets another change of the definition is refused, and made anew.
    assert [trim.code for trim in trims if trim.code != http.HTTPStatus.CONFLICT] == [200]
    # Each object is patched once by the rewrite and once by the verify pass.
    patches = [r for r in ours if r.resource == doors.plural and "dryRun" not in r.path]
    assert sum(r.verb == "patch" and r.code == 200 for r in patches) == 2 * len(names)
    assert first.child.exit_code is None
    assert second.child.exit_code is None


def test_two_operators_at_once_prune_and_archive_each_legacy_object_once(
    crd: MakeCrd, control_plane: ControlPlane, start_operator: StartOperator
) -> None:
    gems = crd("gems")
    gems.put_legacy([version("v1", schema(SIZE))], storage="v1")
    old, new = ([f"{kind}{number:03}" for number in range(150)] for kind in ("old", "new"))
    junk = {"size": 1, "junk": "x"}
    gems.add("v1", *(gems.object("v1", name, spec=junk) for name in old))
    mark = control_plane.audit.mark()
    operators = start_operator(), start_operator(**SPLIT)

    gems.label(mode="enforce")
    gems.wait_until_current(within_seconds=90)
    # Both operators see the following change.
    gems.add("v1", *(gems.object("v1", name, spec=junk) for name in new))

    def pruned() -> None:
        assert [n for n, obj in gems.stored().items() if obj["spec"] != {"size": 1}] == []

    eventually(pruned, within_seconds=60)
    writes = Counter(
        request.name
        for request in control_plane.audit.requests(mark)
        if is_ours(request)
        and (request.resource, request.verb, request.code) == (gems.plural, "update", 200)
        and "dryRun" not in request.path
    )
    once = Counter([*old, *new])
    assert writes == once
    shown = json.loads(espalier(control_plane, "archive", "show", gems.name, "-o", "json"))
    archived = Counter(item["object"].removeprefix("default/") for item in shown["items"])
    assert archived == once
    assert [operator.child.exit_code for operator in operators] == [None, None]
