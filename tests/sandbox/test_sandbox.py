"""
What only the sandbox does: faults, denials, expiry on demand, its log, its switches.
"""

import asyncio
import json
from collections.abc import AsyncIterator

import aiohttp
import pytest
import yaml

from espalier.sandbox import Fault, Sandbox
from tests.contract.server import CRDS, MERGE, Object, Server, eventually
from tests.contract.widgets import NEW, OLD, Widgets, definition, establish, version

GROUP = "example.com"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def _server(sandbox: Sandbox, session: aiohttp.ClientSession) -> Server:
    return Server(url=sandbox.url, raw=sandbox, session=session, ssl_context=True, group=GROUP)


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    async with Sandbox() as sandbox:
        yield sandbox


@pytest.fixture
async def widgets(sandbox: Sandbox) -> AsyncIterator[Widgets]:
    async with aiohttp.ClientSession() as session:
        server = _server(sandbox, session)
        crd = definition(GROUP, version("v1alpha1", OLD, storage=True), version("v1", NEW))
        await establish(server, crd)
        yield Widgets(server=server)


async def test_a_fault_hits_the_requests_meant_and_no_other(
    sandbox: Sandbox, widgets: Widgets
) -> None:
    await widgets.create("a")
    fault = Fault(method="PATCH", path="/widgets/a$", skip=1, status=429, retry_after_seconds=7)
    sandbox.faults.add(fault)

    async def patch() -> int:
        answer = await widgets.server.call("PATCH", widgets.path("a"), {}, content_type=MERGE)
        return answer.status

    assert await patch() == 200
    assert (await widgets.server.call("GET", widgets.path("a"))).status == 200
    async with widgets.server.session.patch(
        sandbox.url + widgets.path("a"), data=b"{}", headers={"Content-Type": MERGE}
    ) as response:
        assert response.status == 429
        assert response.headers["Retry-After"] == "7"
    assert await patch() == 200


async def test_a_connection_can_break_before_and_after_the_write(
    sandbox: Sandbox, widgets: Widgets
) -> None:
    for name, after_write in (("before", False), ("after", True)):
        sandbox.faults.add(Fault(verb="create", status=0, after_write=after_write))
        with pytest.raises(aiohttp.ClientError):
            await widgets.server.call("POST", widgets.path(), widgets.widget(name))

    assert sandbox.raw_get(widgets.key("before")) is None
    assert sandbox.raw_get(widgets.key("after")) is not None
    assert [request.status for request in sandbox.log[-2:]] == [0, 0]


async def test_a_denied_right_is_refused_and_reviewed_so(
    sandbox: Sandbox, widgets: Widgets
) -> None:
    sandbox.faults.deny("list", GROUP, "widgets")
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {
            "resourceAttributes": {"group": GROUP, "resource": "widgets", "verb": "list"},
        },
    }

    answer = await widgets.server.call("GET", f"/apis/{GROUP}/v1/widgets")
    denied = await widgets.server.post(REVIEWS, review)
    sandbox.faults.allow("list", GROUP, "widgets")
    allowed = await widgets.server.post(REVIEWS, review)

    assert answer.failure == (
        403,
        "Forbidden",
        (
            'widgets.example.com is forbidden: User "sandbox" cannot list resource "widgets" in '
            'API group "example.com" at the cluster scope'
        ),
    )
    assert denied["status"]["allowed"] is False
    assert allowed["status"] == {"allowed": True}


async def test_an_expired_token_comes_with_a_fresh_one(sandbox: Sandbox, widgets: Widgets) -> None:
    for name in ("a", "b", "c"):
        await widgets.create(name)
    page = await widgets.server.get(widgets.path(), limit="1")
    sandbox.expire_the_past()
    await widgets.create("d")
    sandbox.expire_the_past()

    expired = await widgets.server.call(
        "GET", widgets.path(), limit="2", **{"continue": page["metadata"]["continue"]}
    )
    rest = await widgets.server.get(
        widgets.path(), limit="2", **{"continue": expired.body["metadata"]["continue"]}
    )

    assert expired.failure[:2] == (410, "Expired")
    assert [item["metadata"]["name"] for item in rest["items"]] == ["b", "c"]
    assert rest["metadata"]["remainingItemCount"] == 1


async def test_the_past_is_bounded() -> None:
    async with Sandbox(kept_changes=2) as sandbox, aiohttp.ClientSession() as session:
        server = _server(sandbox, session)
        start = (await server.get("/api/v1/namespaces"))["metadata"]["resourceVersion"]
        maps = "/api/v1/namespaces/default/configmaps"
        for name in ("a", "b", "c"):
            metadata = {"name": name}
            await server.post(maps, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})

        events = [e async for e in server.watch(maps, resourceVersion=start, timeoutSeconds="1")]

        assert [event["object"].get("code") for event in events] == [410]


async def test_a_stalled_watch_catches_up(sandbox: Sandbox, widgets: Widgets) -> None:
    server = widgets.server
    start = (await server.get(widgets.path()))["metadata"]["resourceVersion"]
    sandbox.faults.stall_watches()
    stream = server.watch(widgets.path(), resourceVersion=start, timeoutSeconds="30")
    first = asyncio.ensure_future(anext(stream))
    await widgets.create("a")

    done, _ = await asyncio.wait([first], timeout=0.2)
    assert not done
    sandbox.faults.resume_watches()

    assert (await first)["object"]["metadata"]["name"] == "a"
    await stream.aclose()


async def test_bookmarks_come_as_often_as_wanted_and_at_the_end(widgets: Widgets) -> None:
    start = (await widgets.server.get(widgets.path()))["metadata"]["resourceVersion"]
    async with Sandbox(bookmark_seconds=0.05) as sandbox, aiohttp.ClientSession() as session:
        often = _server(sandbox, session).watch(
            "/api/v1/namespaces", allowWatchBookmarks="true", fieldSelector="metadata.name=none"
        )
        kinds = [(await anext(often))["type"] for _ in range(3)]
        await often.aclose()

    ended = [
        event["object"]["metadata"]["resourceVersion"]
        async for event in widgets.server.watch(
            widgets.path(), resourceVersion=start, timeoutSeconds="1", allowWatchBookmarks="true"
        )
    ]

    assert kinds == ["BOOKMARK"] * 3
    assert ended == [start]


async def test_watches_can_be_closed(sandbox: Sandbox, widgets: Widgets) -> None:
    stream = widgets.server.watch(widgets.path(), timeoutSeconds="30")
    first = asyncio.ensure_future(anext(stream))
    await widgets.create("a")
    await first

    sandbox.faults.close_watches()

    assert [event async for event in stream] == []


async def test_a_new_schema_ends_the_watches_of_its_objects(widgets: Widgets) -> None:
    server = widgets.server
    await widgets.create("a")
    stream = server.watch(widgets.path(), timeoutSeconds="30")
    await anext(stream)

    await widgets.flip()

    names = [event["object"]["metadata"]["name"] async for event in stream]
    assert set(names) <= {"probe"}


async def test_requests_are_logged(sandbox: Sandbox, widgets: Widgets) -> None:
    await widgets.create("a")
    await widgets.server.call("PATCH", widgets.path("a"), {"x": 1}, content_type=MERGE)
    await widgets.server.call("GET", "/nowhere", a="b")

    made, patched, lost = sandbox.log[-3:]
    assert (made.method, made.verb, made.status, made.mutates) == ("POST", "create", 201, True)
    assert (patched.verb, patched.content_type, patched.body) == ("patch", MERGE, b'{"x": 1}')
    assert patched.path == widgets.path("a")
    assert patched.user_agent == "contract/1"
    assert (lost.verb, lost.query, lost.status, lost.mutates) == ("", "a=b", 404, False)


async def test_the_servers_own_condition_can_be_turned_off() -> None:
    async with (
        Sandbox(structural_delay_seconds=None) as sandbox,
        aiohttp.ClientSession() as session,
    ):
        server = _server(sandbox, session)
        crd = definition(GROUP, version("v1", OLD, storage=True), preserveUnknownFields=True)
        crd["status"] = {"storedVersions": ["v1"]}
        key = f"/registry/apiextensions.k8s.io/customresourcedefinitions/widgets.{GROUP}"
        sandbox.raw_put(key, json.dumps(crd).encode())

        async def established() -> Object | None:
            read = await server.get(f"{CRDS}/widgets.{GROUP}")
            return read if read["status"].get("conditions") else None

        read = await eventually(established)
        types = [condition["type"] for condition in read["status"]["conditions"]]
        assert types == ["NamesAccepted", "Established"]


async def test_the_kubeconfig_names_the_sandbox(sandbox: Sandbox) -> None:
    content = yaml.safe_load(sandbox.kubeconfig())

    assert content["clusters"][0]["cluster"] == {"server": sandbox.url}
    assert content["current-context"] == "sandbox"


async def test_a_thousand_objects_are_made_rewritten_and_listed(
    widgets: Widgets,
) -> None:
    names = [f"w{index:04}" for index in range(1000)]
    made = await asyncio.gather(*(widgets.create(name, spec={"size": 1}) for name in names))
    await widgets.flip()
    await asyncio.gather(
        *(
            widgets.server.merge(
                widgets.path(obj["metadata"]["name"], version="v1"),
                {"metadata": {"uid": obj["metadata"]["uid"]}},
            )
            for obj in made
        )
    )
    listed = await widgets.server.get(widgets.path(version="v1"))

    assert [item["metadata"]["name"] for item in listed["items"]] == names
    assert {item["spec"]["color"] for item in listed["items"]} == {"red"}
