from dataclasses import replace
from typing import Any

import pytest

from espalier.cluster import MalformedDefinition
from espalier.crd import Condition
from espalier.engine.ports import Endpoint
from espalier.errors import ClusterError, ConflictError, ExpiredTokenError, MalformedDefinitionError
from tests.cluster.scripted import (
    WIDGETS,
    Reply,
    Script,
    connected,
    crd,
    definition,
    status_of,
)

PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TRUE = Condition(type="espalier.dev/StoredObjectsCurrent", status="True", reason="R", message="m")


def listed(*items: Any, token: str = "") -> Reply:
    return Reply(body={"metadata": {"continue": token}, "items": list(items)})


def untyped(name: str) -> dict[str, Any]:
    return {key: value for key, value in crd(name).items() if key not in {"apiVersion", "kind"}}


async def test_one_definition_is_a_quorum_read() -> None:
    script = Script(Reply(body=crd()))

    async with connected(script) as cluster:
        read = await cluster.definitions.get_definition("widgets.example.com")

    assert read == definition()
    assert (script.seen[0].path, script.seen[0].query) == (f"{PATH}/widgets.example.com", {})


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"{", b"[" * 5000])
async def test_an_answer_that_is_no_object_is_a_cluster_error(body: bytes) -> None:
    script = Script(Reply(body=body))

    async with connected(script) as cluster:
        with pytest.raises(ClusterError, match="MalformedAnswer"):
            await cluster.definitions.get_definition("widgets.example.com")


async def test_a_malformed_definition_is_reported_as_such() -> None:
    script = Script(Reply(body={"metadata": {}}))

    async with connected(script) as cluster:
        with pytest.raises(MalformedDefinitionError):
            await cluster.definitions.get_definition("widgets.example.com")


async def test_all_definitions_are_listed_and_a_malformed_one_is_named() -> None:
    broken = {"metadata": {"name": "broken.example.com"}, "spec": 3}
    script = Script(
        listed(untyped("a.example.com"), broken, token="t1"),  # noqa: S106 - no password
        Reply(410, status_of(410, "Expired", metadata={"continue": "t2"})),
        listed({"metadata": 3}, untyped("b.example.com")),
    )

    async with connected(script) as cluster:
        read = [found async for found in cluster.definitions.list_definitions(page_size=2)]

    names = [found.name for found in read]
    assert names == ["a.example.com", "broken.example.com", "", "b.example.com"]
    assert [type(found) is MalformedDefinition for found in read] == [False, True, True, False]
    assert [seen.query.get("continue") for seen in script.seen] == [None, "t1", "t2"]


async def test_a_list_that_expires_for_good_ends() -> None:
    gone = Reply(410, status_of(410, "Expired", metadata={"continue": "t1"}))
    script = Script(listed(token="t0"), gone, gone)  # noqa: S106 - no password

    async with connected(script) as cluster:
        with pytest.raises(ExpiredTokenError):
            await cluster.definitions.definition_names()


async def test_names_are_read_from_metadata_only() -> None:
    script = Script(listed({"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}))

    async with connected(script) as cluster:
        names = await cluster.definitions.definition_names()

    assert names == ("a", "b")
    assert "as=PartialObjectMetadataList" in script.seen[0].headers["Accept"]


async def test_stored_versions_are_replaced_under_guard() -> None:
    script = Script(Reply(body=crd(resourceVersion="8")), Reply(409, status_of(409, "Conflict")))

    async with connected(script) as cluster:
        after = await cluster.definitions.set_stored_versions(definition(), ["v1"])
        with pytest.raises(ConflictError):
            await cluster.definitions.set_stored_versions(after, ["v1"])

    (seen, later) = script.seen
    assert (seen.method, seen.path) == ("PATCH", f"{PATH}/widgets.example.com/status")
    assert seen.headers["Content-Type"] == "application/merge-patch+json"
    assert seen.query == {"fieldManager": "espalier"}
    assert seen.body == {
        "metadata": {"uid": "uid-of-widgets.example.com", "resourceVersion": "7"},
        "status": {"storedVersions": ["v1"]},
    }
    assert later.body["metadata"]["resourceVersion"] == "8"


@pytest.mark.parametrize(
    ("versions", "metadata"),
    [
        ([], {}),
        (["v1alpha1"], {}),
        (["v1", "v2"], {}),
        (["v1"], {"uid": ""}),
        (["v1"], {"resourceVersion": ""}),
    ],
)
async def test_stored_versions_that_would_lose_objects_are_never_sent(
    versions: list[str], metadata: dict[str, str]
) -> None:
    script = Script()

    async with connected(script) as cluster:
        with pytest.raises(ValueError, match=r"must hold the storage|to be guarded by"):
            await cluster.definitions.set_stored_versions(definition(**metadata), versions)

    assert script.seen == []


@pytest.mark.parametrize(
    ("conditions", "status"),
    [
        ((), {}),
        (
            (TRUE,),
            {
                "conditions": [
                    {
                        "type": "espalier.dev/StoredObjectsCurrent",
                        "status": "True",
                        "reason": "R",
                        "message": "m",
                    }
                ]
            },
        ),
    ],
)
async def test_conditions_are_applied_to_this_very_definition(
    conditions: tuple[Condition, ...], status: dict[str, Any]
) -> None:
    script = Script(Reply(body=crd()))

    async with connected(script) as cluster:
        await cluster.definitions.apply_conditions(
            definition(), conditions, field_manager="espalier-structural"
        )

    (seen,) = script.seen
    assert (seen.method, seen.path) == ("PATCH", f"{PATH}/widgets.example.com/status")
    assert seen.headers["Content-Type"] == "application/apply-patch+yaml"
    assert seen.query == {"fieldManager": "espalier-structural", "force": "true"}
    assert seen.body == {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com", "uid": "uid-of-widgets.example.com"},
        "status": status,
    }


async def test_missing_rights_are_named() -> None:
    granted, refused = Reply(201, {"status": {"allowed": True}}), Reply(201, {"status": {}})
    unlisted = Reply(201, {"status": {"incomplete": True}})
    script = Script(unlisted, granted, Reply(503, ""), refused, granted, unlisted, granted)

    async with connected(script) as cluster:
        missing = await cluster.rights.missing_verbs(WIDGETS, ["list", "patch", "update/status"])

        await cluster.rights.missing_verbs(WIDGETS, ["get"], namespace="a", name="one")

    assert missing == ("patch",)
    assert script.seen[1].body["spec"]["resourceAttributes"] == {
        "group": "example.com",
        "version": "v1",
        "resource": "widgets",
        "verb": "list",
    }
    assert script.seen[4].body["spec"]["resourceAttributes"] == {
        "group": "example.com",
        "version": "v1",
        "resource": "widgets",
        "verb": "update",
        "subresource": "status",
    }
    assert script.seen[6].body["spec"]["resourceAttributes"] == {
        "group": "example.com",
        "version": "v1",
        "resource": "widgets",
        "verb": "get",
        "namespace": "a",
        "name": "one",
    }


async def test_a_review_without_an_answer_grants_nothing() -> None:
    odd = Endpoint(group="g", version="v1", plural="p", kind="K", namespaced=False)
    unlisted = Reply(201, {"status": {"incomplete": True}})
    script = Script(unlisted, Reply(201, {"status": None}))

    async with connected(script) as cluster:
        with pytest.raises(ClusterError, match="MalformedAnswer"):
            await cluster.rights.missing_verbs(odd, ["list"])


async def test_an_event_is_posted_on_the_definition() -> None:
    script = Script(Reply(201, {}))

    async with connected(script) as cluster:
        await cluster.events.post_event(
            definition(), type_="Warning", reason="Failed", message="\u00e9" * 2000
        )

    (seen,) = script.seen
    assert (seen.method, seen.path) == ("POST", "/api/v1/namespaces/default/events")
    assert seen.body["involvedObject"]["uid"] == "uid-of-widgets.example.com"
    assert (seen.body["type"], seen.body["reason"]) == ("Warning", "Failed")
    assert len(seen.body["message"].encode()) == 1024
    assert seen.body["firstTimestamp"] == "2026-01-02T03:04:05Z"


async def test_an_event_that_cannot_be_posted_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    script = Script(Reply(403, status_of(403, "Forbidden", "no")))

    async with connected(script) as cluster:
        await cluster.events.post_event(definition(), type_="Normal", reason="R", message="m")

    assert [record.message for record in caplog.records] == ["An Event could not be posted."]


def typed_patch_error(field: str) -> Reply:
    """
    Return what a server of 1.34 answers to a condition with a field that it does not know.
    """
    message = (
        "failed to create typed patch object (/widgets.example.com; apiextensions.k8s.io/v1,"
        " Kind=CustomResourceDefinition): .status.conditions"
        f'[type="espalier.dev/StoredObjectsCurrent"].{field}: field not declared in schema'
    )
    return Reply(500, status_of(500, "InternalError", message=message))


async def test_a_server_that_knows_no_generations_gets_conditions_without_them() -> None:
    script = Script(typed_patch_error("observedGeneration"), Reply(body=crd()))
    dated = replace(TRUE, observed_generation=3)

    async with connected(script) as cluster:
        await cluster.definitions.apply_conditions(definition(), [dated], field_manager="m")

    first, second = (seen.body["status"]["conditions"] for seen in script.seen)
    assert first == [{**second[0], "observedGeneration": 3}]
    assert "observedGeneration" not in second[0]


@pytest.mark.parametrize("failure", [typed_patch_error("other"), Reply(500, status_of(500, "X"))])
async def test_another_refusal_of_conditions_is_raised(failure: Reply) -> None:
    script = Script(failure)

    async with connected(script) as cluster:
        with pytest.raises(ClusterError):
            await cluster.definitions.apply_conditions(definition(), [TRUE], field_manager="m")

    assert len(script.seen) == 1
