"""
Admission that changes or refuses what a rewrite sends, and two operators at once.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import MakeCrd, StartOperator
from tests.e2e.controlplane.api import ApiError
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import CURRENT, GROUP, Crd, schema, version
from tests.e2e.operating import is_ours
from tests.e2e.waiting import eventually
from tests.e2e.webhooks import Document, Webhook, admitting

pytestmark = pytest.mark.e2e

API = "/apis/admissionregistration.k8s.io/v1"
SIZE = {"size": {"type": "integer"}}
VERSIONS = [version("v1alpha1", schema(SIZE)), version("v1", schema(SIZE))]

Post = Callable[[str, str, str, Document], str]


@pytest.fixture
def admission(control_plane: ControlPlane) -> Iterator[Post]:
    """
    Makes objects of the admission API, which are taken away after the test.
    """
    paths: list[str] = []

    def post(plural: str, kind: str, name: str, body: Document) -> str:
        head = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind}
        path = f"{API}/{plural}"
        control_plane.api.post(path, head | {"metadata": {"name": name}} | body)
        paths.append(f"{path}/{name}")
        return paths[-1]

    yield post
    for path in reversed(paths):
        control_plane.api.delete(path)


def flipped(crd: Crd, *names: str) -> None:
    crd.create(VERSIONS, storage="v1alpha1")
    crd.add("v1alpha1", *(crd.object("v1alpha1", name, spec={"size": 1}) for name in names))
    crd.set_versions(VERSIONS, storage="v1")


def rules(crd: Crd) -> list[Document]:
    return [
        {
            "apiGroups": [GROUP],
            "apiVersions": ["*"],
            "resources": [crd.plural],
            "operations": ["UPDATE"],
        }
    ]


def in_force(crd: Crd, name: str, holds: Callable[[Document], bool]) -> None:
    """
    Wait until a dry run of a change shows what admission does to it.
    """

    def look() -> None:
        path = f"{crd.objects_path('v1')}/{name}?dryRun=All"
        try:
            seen = crd.plane.api.merge(path, {"metadata": {"labels": {"a": "b"}}})
        except ApiError as error:
            seen = {"refused": error.message}
        assert holds(seen), seen

    eventually(look)


def test_a_mutating_admission_policy_stops_the_run_before_the_first_write(
    crd: MakeCrd, start_operator: StartOperator, admission: Post
) -> None:
    shelves = crd("shelves")
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
    Denies every update of an object that is named `bad`.
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

    assert 'denied by admission webhook "guard.e2e.example.com"' in failed["message"]
    assert "(default/bad)" in failed["message"]
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
    # No server takes such a one any more; those that were made through v1beta1 are still there.
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


def test_two_operators_at_once_do_the_work_of_one(
    crd: MakeCrd, control_plane: ControlPlane, start_operator: StartOperator
) -> None:
    names = [f"d{number:03}" for number in range(300)]
    doors = crd("doors")
    flipped(doors, *names)
    mark = control_plane.audit.mark()
    first, second = start_operator(), start_operator()

    doors.label(mode="enforce")
    doors.wait_until_current(within_seconds=90)

    assert doors.stored_at() == {"v1": 300}
    ours: list[Any] = [r for r in control_plane.audit.requests(mark) if is_ours(r)]
    trims = [
        request
        for request in ours
        if request.name == doors.name and "storedVersions" in (request.body or {}).get("status", {})
    ]
    assert len(trims) == 1
    # Each object is patched once by the rewrite and once by the verify pass.
    patches = [r for r in ours if r.resource == doors.plural and "dryRun" not in r.path]
    assert sum(r.verb == "patch" and r.code == 200 for r in patches) == 2 * len(names)
    assert first.child.exit_code is None
    assert second.child.exit_code is None
