"""
The built-in kinds that Espalier itself uses.
"""

import secrets

import pytest

from tests.contract.server import MERGE, Object, Server

LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
SECRETS = "/api/v1/namespaces/default/secrets"
MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def name() -> str:
    return f"n{secrets.token_hex(4)}"


async def test_an_immutable_secret(server: Server, name: str) -> None:
    path = f"{SECRETS}/{name}"
    made = await server.post(
        SECRETS,
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name},
            "immutable": True,
            "data": {"a": "YQ=="},
        },
    )

    data = await server.call("PATCH", path, {"data": {"a": "Yg=="}}, content_type=MERGE)
    thaw = await server.call("PATCH", path, {"immutable": False}, content_type=MERGE)
    labelled = await server.merge(path, {"metadata": {"labels": {"a": "b"}}})
    gone = await server.call("DELETE", path)

    text = "Forbidden: field is immutable when `immutable` is set"
    assert made["type"] == "Opaque"
    assert "generation" not in made["metadata"]
    assert data.failure == (422, "Invalid", f'Secret "{name}" is invalid: data: {text}')
    assert thaw.failure == (422, "Invalid", f'Secret "{name}" is invalid: immutable: {text}')
    assert labelled["metadata"]["labels"] == {"a": "b"}
    assert gone.body["details"] == {
        "name": name,
        "kind": "secrets",
        "uid": made["metadata"]["uid"],
    }


async def test_string_data_is_encoded(server: Server, name: str) -> None:
    made = await server.post(
        SECRETS,
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name},
            "stringData": {"a": "x"},
        },
    )

    assert made["data"] == {"a": "eA=="}
    assert "stringData" not in made


async def test_a_config_map_by_apply(server: Server, name: str) -> None:
    path = f"{MAPS}/{name}"
    body: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": {"k": "v"},
    }

    made = await server.apply(path, body, manager="espalier", force="true")
    again = await server.apply(path, body, manager="espalier", force="true")
    missing = await server.call("GET", f"{MAPS}/{name}-other")

    assert made.status == 201
    assert made.body["metadata"]["managedFields"][0]["fieldsV1"] == {"f:data": {"f:k": {}}}
    assert again == (200, made.body)
    assert missing.failure == (404, "NotFound", f'configmaps "{name}-other" not found')


async def test_a_lease_is_a_lock(server: Server, name: str) -> None:
    path = f"{LEASES}/{name}"
    lease = await server.post(
        LEASES,
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": name},
            "spec": {
                "holderIdentity": "one",
                "leaseDurationSeconds": 15,
                "renewTime": "2026-01-01T00:00:00.000000Z",
            },
        },
    )
    lease["spec"]["holderIdentity"] = "two"

    taken = await server.call("PUT", path, lease)
    late = await server.call("PUT", path, lease)

    assert taken.status == 200
    assert taken.body["spec"]["holderIdentity"] == "two"
    assert late.failure == (
        409,
        "Conflict",
        (
            f'Operation cannot be fulfilled on leases.coordination.k8s.io "{name}": the object has '
            "been modified; please apply your changes to the latest version and try again"
        ),
    )


async def test_a_review_of_rights(server: Server) -> None:
    attributes = {"group": "example.com", "resource": "widgets", "verb": "list"}

    review = await server.post(
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        },
    )

    assert review["status"]["allowed"] is True
    assert review["spec"]["resourceAttributes"] == attributes


async def test_a_review_of_the_rules_of_no_namespace(server: Server) -> None:
    review = await server.post(
        "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectRulesReview",
            "spec": {"namespace": "-"},
        },
    )

    assert review["status"]["incomplete"] is False
    everything = [r for r in review["status"]["resourceRules"] if "*" in r["verbs"]]
    assert everything


async def test_an_event_is_found_by_what_it_is_about(server: Server, name: str) -> None:
    made = await server.post(
        "/api/v1/namespaces/default/events",
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"generateName": "x-"},
            "involvedObject": {
                "kind": "CustomResourceDefinition",
                "apiVersion": "apiextensions.k8s.io/v1",
                "name": name,
                "uid": "u",
            },
            "reason": "R",
            "message": "m",
            "type": "Normal",
        },
    )

    assert made["metadata"]["name"].startswith("x-")
    assert made["involvedObject"]["name"] == name
    for selector, expected in (
        (f"involvedObject.name={name},involvedObject.uid=u", [made["metadata"]["name"]]),
        (f"involvedObject.name={name},involvedObject.uid=v", []),
    ):
        found = await server.get("/api/v1/events", fieldSelector=selector)
        assert [event["metadata"]["name"] for event in found["items"]] == expected


async def test_a_namespace_is_active_and_labelled(server: Server, name: str) -> None:
    made = await server.post(
        "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    )

    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": name}
    assert made["spec"] == {"finalizers": ["kubernetes"]}
    assert made["status"] == {"phase": "Active"}


async def test_nothing_is_created_where_there_is_no_namespace(server: Server, name: str) -> None:
    body: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
    path = f"/api/v1/namespaces/{name}/configmaps"

    missing = await server.call("POST", path, body)
    space: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    await server.post("/api/v1/namespaces", space)
    await server.call("DELETE", f"/api/v1/namespaces/{name}")
    terminating = await server.call("POST", path, body)

    assert missing.failure == (404, "NotFound", f'namespaces "{name}" not found')
    assert missing.body["details"] == {"name": name, "kind": "namespaces"}
    assert terminating.failure == (
        403,
        "Forbidden",
        (
            f'configmaps "{name}" is forbidden: unable to create new content in namespace {name}'
            " because it is being terminated"
        ),
    )
    assert terminating.body["details"] == {
        "name": name,
        "kind": "configmaps",
        "causes": [
            {
                "reason": "NamespaceTerminating",
                "message": f"namespace {name} is being terminated",
                "field": "metadata.namespace",
            }
        ],
    }
