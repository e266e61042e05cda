"""
What a real kube-apiserver says of a write that it refuses, and what is told of it.
"""

import secrets
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from espalier.cluster import Cluster, connect
from espalier.cluster.transport.client import ApiRequest
from espalier.cluster.transport.media_types import MERGE_PATCH_TYPE
from espalier.engine.status.causes import cause_of
from espalier.errors import ClusterError, NamespaceGoneError, RejectedError, TransientError
from tests.e2e.controlplane.api import ApiError
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import Crd, schema, version
from tests.e2e.waiting import eventually

pytestmark = pytest.mark.e2e

HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
RULE = {"rule": "!has(self.size) || self.size < 5", "message": "size must be small"}
FIELDS = {
    "size": {"type": "integer", "maximum": 10},
    "when": {"type": "string", "format": "date-time"},
    "code": {"type": "string", "enum": ["a"]},
}


@pytest.fixture
async def cluster(control_plane: ControlPlane) -> AsyncIterator[Cluster]:
    async with connect(control_plane.kubeconfig) as connected:
        yield connected


@pytest.fixture
def words(control_plane: ControlPlane) -> Iterator[Crd]:
    crd = Crd(control_plane, "words", "adapter.example.com")
    openapi = schema(FIELDS)
    openapi["properties"]["spec"]["x-kubernetes-validations"] = [RULE]
    crd.create([version("v1", openapi)], storage="v1")
    crd.add("v1", crd.object("v1", "a", spec={}))
    yield crd
    crd.remove()


async def refusal(cluster: Cluster, crd: Crd, patch: dict[str, Any]) -> ClusterError:
    call = ApiRequest(
        verb="patch",
        resource=f"{crd.name} default/a",
        method="PATCH",
        path=f"{crd.objects_path('v1')}/a",
        body=patch,
        content_type=MERGE_PATCH_TYPE,
    )
    with pytest.raises(ClusterError) as caught:
        await cluster.client.send(call)
    return caught.value


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"size": 7}, "spec: Invalid value"),
        (
            {"size": 77},
            "spec.size: Invalid value: spec.size in body should be less than or equal to 10",
        ),
        ({"when": "hunter2"}, "spec.when: Invalid value"),
        ({"code": "hunter2"}, 'spec.code: Unsupported value: supported values: "a"'),
        (
            {"size": "hunter2"},
            'spec.size: Invalid value: spec.size in body must be of type integer: "string"',
        ),
    ],
)
async def test_the_message_about_a_schema_comes_without_the_value(
    cluster: Cluster, words: Crd, spec: dict[str, Any], told: str
) -> None:
    error = await refusal(cluster, words, {"spec": spec})
    assert isinstance(error, RejectedError)
    assert cause_of(error).startswith(f"422 Invalid, {told}")
    assert "hunter2" not in f"{error} {error.causes}"


async def test_a_webhook_that_cannot_be_called_is_named(cluster: Cluster, words: Crd) -> None:
    rule = {"apiGroups": [words.group], "apiVersions": ["*"], "resources": [words.plural]}
    hook = {
        "name": "away.e2e.example.com",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "rules": [rule | {"operations": ["UPDATE"]}],
        "clientConfig": {"url": "https://127.0.0.1:1/away"},
    }
    head = {"apiVersion": HOOKS.removeprefix("/apis/").rpartition("/")[0]}
    kind = {"kind": "ValidatingWebhookConfiguration", "metadata": {"name": "away"}}
    words.plane.api.post(HOOKS, {**head, **kind, "webhooks": [hook]})
    try:
        patch = {"metadata": {"labels": {"a": "b"}}}
        path = f"{words.objects_path('v1')}/a"
        eventually(lambda: _is_refused(words, path))
        error = await refusal(cluster, words, patch)
    finally:
        words.plane.api.delete(f"{HOOKS}/away")
    assert isinstance(error, TransientError)
    assert cause_of(error).startswith(
        '500 InternalError, failed calling webhook "away.e2e.example.com": failed to call webhook'
    )


def _is_refused(crd: Crd, path: str) -> None:
    with pytest.raises(ApiError):
        crd.plane.api.merge(path, {"metadata": {"annotations": {"try": secrets.token_hex(4)}}})


async def test_a_namespace_that_is_missing_or_going_is_named(
    cluster: Cluster, control_plane: ControlPlane
) -> None:
    name = f"n{secrets.token_hex(4)}"
    call = ApiRequest(
        verb="create",
        resource="configmaps",
        method="POST",
        path=f"/api/v1/namespaces/{name}/configmaps",
        body={"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}},
    )
    with pytest.raises(NamespaceGoneError) as missing:
        await cluster.client.send(call)
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    control_plane.api.post("/api/v1/namespaces", space)
    control_plane.api.delete(f"/api/v1/namespaces/{name}")
    with pytest.raises(NamespaceGoneError) as going:
        await cluster.client.send(call)
    assert (missing.value.namespace, missing.value.is_terminating) == (name, False)
    assert (going.value.namespace, going.value.is_terminating) == (name, True)
