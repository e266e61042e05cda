"""
What kubectl sends, without kubectl: protobuf, and the questions before server-side validation.
"""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from espalier.sandbox import Sandbox
from espalier.sandbox.protobuf import namespace_of
from espalier.sandbox.wire import RequestRefusal
from tests.contract.server import Server
from tests.contract.widgets import NEW, definition, establish, version

GROUP = "example.com"
WIDGETS = f"/apis/{GROUP}/v1/namespaces/default/widgets"


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with Sandbox() as sandbox, aiohttp.ClientSession() as session:
        made = Server(url=sandbox.url, raw=sandbox, session=session, ssl_context=True, group=GROUP)
        await establish(made, definition(GROUP, version("v1", NEW, storage=True)))
        yield made


def field(number: int, value: bytes) -> bytes:
    size = len(value)
    length = bytes([size]) if size < 0x80 else bytes([size & 0x7F | 0x80, size >> 7])
    return bytes([number << 3 | 2]) + length + value


def sent(metadata: bytes) -> bytes:
    type_meta = field(1, b"v1") + field(2, b"Namespace")
    return b"k8s\x00" + field(1, type_meta) + field(2, field(1, metadata) + field(2, b""))


def test_a_namespace_is_read_from_protobuf() -> None:
    label = field(1, b"team") + field(2, b"web" * 60)
    # Field 7, the generation, is a number, and is passed over.
    metadata = field(1, b"team-a") + field(2, b"") + b"\x38\x81\x01" + field(11, label)

    assert namespace_of(sent(metadata)) == {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "team-a", "labels": {"team": "web" * 60}},
    }


@pytest.mark.parametrize(
    "body",
    [b"", b"{}", b"k8s\x00\x12\x7f", b"k8s\x00\x0b", b"k8s\x00\x12\xff", sent(b"\x0a\x01\xff")],
)
def test_other_bytes_are_refused(body: bytes) -> None:
    with pytest.raises(RequestRefusal) as raised:
        namespace_of(body)

    assert raised.value.status == 400


async def test_a_namespace_can_be_created_in_protobuf_and_nothing_else(server: Server) -> None:
    headers = {"Content-Type": "application/vnd.kubernetes.protobuf"}
    body = sent(field(1, b"team-a"))
    answers = {}
    for path in ("/api/v1/namespaces", "/api/v1/namespaces/default/configmaps"):
        async with server.session.post(f"{server.url}{path}", data=body, headers=headers) as one:
            answers[path] = one.status, (await one.json())["kind"]

    assert list(answers.values()) == [(201, "Namespace"), (415, "Status")]


async def test_each_kind_takes_the_parameter_for_validation(server: Server) -> None:
    async with server.session.get(f"{server.url}/openapi/v3") as answer:
        roots = (await answer.json())["paths"]
    async with server.session.get(
        f"{server.url}{roots[f'apis/{GROUP}/v1']['serverRelativeURL']}"
    ) as answer:
        paths = (await answer.json())["paths"]
    async with server.session.get(f"{server.url}/openapi/v3/apis/none/v1") as answer:
        missing = answer.status

    patch = paths[f"{WIDGETS}/{{name}}".replace("default", "{namespace}")]["patch"]
    assert "api/v1" in roots
    assert patch["x-kubernetes-group-version-kind"] == {
        "group": GROUP,
        "version": "v1",
        "kind": "Widget",
    }
    assert "fieldValidation" in {one["name"] for one in patch["parameters"]}
    assert missing == 404


@pytest.mark.parametrize(("mode", "status"), [("Strict", 400), ("Warn", 201), ("Ignore", 201)])
async def test_unknown_fields_are_refused_where_the_client_asks_for_that(
    server: Server, mode: str, status: int
) -> None:
    widget = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Widget",
        "metadata": {"name": "a"},
        "spec": {"size": 4, "unknown": 1},
    }
    url = f"{server.url}{WIDGETS}"
    query = {"fieldValidation": mode}
    async with server.session.post(url, json=widget, params=query) as answer:
        created = answer.status, await answer.json()
    merge = {"Content-Type": "application/merge-patch+json"}
    async with server.session.post(url, json={**widget, "spec": {"size": 4}}):
        pass
    async with server.session.patch(
        f"{url}/a", json={"spec": {"other": 1}}, params=query, headers=merge
    ) as answer:
        patched = answer.status, await answer.json()

    assert created[0] == status
    assert patched[0] == (422 if mode == "Strict" else 200)
    if mode == "Strict":
        text = 'cannot be handled as a Widget: strict decoding error: unknown field "spec.unknown"'
        assert created[1]["message"].endswith(text)
        assert 'unknown field "spec.other"' in patched[1]["message"]
