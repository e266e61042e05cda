"""
Requests act as another user, by the kubeconfig or by options.
"""

from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from multidict import CIMultiDictProxy

from espalier.cluster import Impersonation, connect
from espalier.cluster.auth.kubeconfig import read_kubeconfig
from espalier.errors import ConfigurationError, TransientError
from tests.cluster.kubeconfigs import kubeconfig
from tests.cluster.scripted import CLOSING, ManualClock, Reply, Script, crd, serving, status_of

NAME = "widgets.example.com"


async def headers_of(tmp_path: Path, user: dict[str, Any], given: Impersonation) -> list[str]:
    """
    Return the headers of impersonation that a server receives.
    """
    script = Script(Reply(body=crd()))
    async with serving(script) as server:
        path = kubeconfig(tmp_path, cluster={"server": server}, user=user)
        async with connect(path, impersonation=given) as cluster:
            await cluster.definitions.get_definition(NAME)
    return [
        f"{name}: {value}"
        for name, value in script.seen[0].headers.items()
        if name.startswith("Impersonate-")
    ]


async def test_users_groups_and_other_facts_are_sent_as_client_go_sends_them(
    tmp_path: Path,
) -> None:
    user: dict[str, Any] = {
        "as": "jane",
        "as-uid": "7",
        "as-groups": ["a", "b"],
        "as-user-extra": {"x/y%": ["1"]},
    }

    assert await headers_of(tmp_path, user, Impersonation()) == [
        "Impersonate-User: jane",
        "Impersonate-Uid: 7",
        "Impersonate-Group: a",
        "Impersonate-Group: b",
        "Impersonate-Extra-x%2Fy%25: 1",
    ]


async def test_an_option_overrides_the_kubeconfig(tmp_path: Path) -> None:
    user: dict[str, Any] = {"as": "jane", "as-groups": ["a", "b"]}

    found = await headers_of(tmp_path, user, Impersonation(user="joe"))

    assert found == ["Impersonate-User: joe", "Impersonate-Group: a", "Impersonate-Group: b"]
    assert await headers_of(tmp_path, {}, Impersonation()) == []


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (Impersonation(groups=("a",)), "but no user; name one by --as"),
        (Impersonation(uid="7"), "but no user; name one by --as"),
        (Impersonation(user="a\r\nImpersonate-Group: system:masters"), "a line break"),
    ],
)
async def test_what_cannot_be_acted_as_is_reported_before_anything_is_sent(
    tmp_path: Path, given: Impersonation, expected: str
) -> None:
    with pytest.raises(ConfigurationError, match=expected):
        async with connect(kubeconfig(tmp_path), impersonation=given):
            raise AssertionError("connected")


def test_the_name_of_a_user_is_read_from_the_kubeconfig(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, user={"as": "root"})

    assert read_kubeconfig(str(path), ManualClock(), context=None).impersonation.user == "root"


async def test_a_credential_that_is_refused_leaves_the_user_named_once(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("old")
    script = Script(Reply(401, status_of(401, "Unauthorized")), Reply(body=crd()))
    async with serving(script) as server:
        user = {"as": "jane", "tokenFile": "token"}
        path = kubeconfig(tmp_path, cluster={"server": server}, user=user)
        async with connect(path) as cluster:
            (tmp_path / "token").write_text("new")
            await cluster.definitions.get_definition(NAME)

    for seen in script.seen:
        assert isinstance(seen.headers, CIMultiDictProxy)
        assert seen.headers.getall("Impersonate-User") == ["jane"]
    assert len(script.seen) == 2
    assert script.seen[1].headers["Authorization"] == "Bearer new"


class Deaf:
    """
    Accepts connections, and never answers.
    """

    async def answer(self, request: web.Request) -> web.StreamResponse:
        await request.app[CLOSING].wait()
        return web.Response()


async def test_a_request_ends_after_its_time_limit(tmp_path: Path) -> None:
    async with serving(Deaf()) as server:
        path = kubeconfig(tmp_path, cluster={"server": server})
        async with connect(path, request_seconds=0.05, clock=ManualClock()) as cluster:
            with pytest.raises(TransientError) as raised:
                await cluster.definitions.get_definition(NAME)

    assert raised.value.reason == "Timeout"
