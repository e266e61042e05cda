import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from espalier.cluster import Cluster, connect_to
from espalier.cluster.auth.connection import Connection
from espalier.cluster.auth.credentials import Credential, FileSource, FixedSource, PluginSource
from espalier.engine.ports import ObjectKey, WritePermit
from espalier.errors import ConfigurationError, ForbiddenError, TransientError
from tests.cluster.scripted import WIDGETS, ManualClock, Reply, Script, connected, serving

A = ObjectKey("default", "a")
FOUND = Reply(body={"metadata": {"name": "a"}})
REFUSED = Reply(401, "")


def sent(script: Script) -> list[str | None]:
    return [seen.headers.get("Authorization") for seen in script.seen]


async def get(cluster: Cluster) -> None:
    await cluster.objects.get_object(WIDGETS, A)


async def test_a_rotated_token_is_noticed_within_a_minute(tmp_path: Path) -> None:
    clock, token = ManualClock(), tmp_path / "token"
    token.write_text("one\n")
    script = Script(FOUND, FOUND, FOUND)

    async with connected(script, clock=clock, credentials=FileSource(token, clock)) as cluster:
        await get(cluster)
        token.write_text("two\n")
        clock.now_seconds += 59
        await get(cluster)
        clock.now_seconds += 1
        await get(cluster)

    assert sent(script) == ["Bearer one", "Bearer one", "Bearer two"]


async def test_a_refused_token_is_read_anew_and_the_request_sent_again(tmp_path: Path) -> None:
    clock, token = ManualClock(), tmp_path / "token"
    token.write_text("one")
    script = Script(REFUSED, Reply(body={"metadata": {"resourceVersion": "4"}}))

    async with connected(script, clock=clock, credentials=FileSource(token, clock)) as cluster:
        token.write_text("two")
        await cluster.objects.rewrite(WIDGETS, WritePermit(A, "u", "3"))

    assert sent(script) == ["Bearer one", "Bearer two"]
    assert (
        script.seen[0].body
        == script.seen[1].body
        == {"metadata": {"uid": "u", "resourceVersion": "3"}}
    )


async def test_a_token_that_is_refused_and_not_rotated_is_not_tried_again(tmp_path: Path) -> None:
    clock, token = ManualClock(), tmp_path / "token"
    token.write_text("one")
    script = Script(REFUSED)

    async with connected(script, clock=clock, credentials=FileSource(token, clock)) as cluster:
        with pytest.raises(ForbiddenError):
            await get(cluster)

    assert sent(script) == ["Bearer one"]


async def test_a_token_outlives_a_file_that_is_away_for_a_moment(tmp_path: Path) -> None:
    clock, token = ManualClock(), tmp_path / "token"
    token.write_text("one")
    source = FileSource(token, clock)
    await source.header()

    token.unlink()
    clock.now_seconds += 61
    assert await source.header() == "Bearer one"
    token.write_text("")
    assert await source.header() == "Bearer one"
    assert await source.renewed("Bearer one") is None


async def test_a_missing_token_is_reported_when_connecting(tmp_path: Path) -> None:
    source = FileSource(tmp_path / "token", ManualClock())

    with pytest.raises(ConfigurationError, match="no token can be read"):
        async with connected(Script(), credentials=source):
            pass


async def test_a_token_never_goes_to_another_server() -> None:
    elsewhere = Script(Reply(body={}))
    async with serving(elsewhere) as other:
        script = Script(Reply(302, "", {"Location": f"{other}/x"}))
        async with (
            connected(script) as cluster,
            cluster.open_session(user_agent="kopf/1") as session,
            session.get(f"{cluster.server}/y") as response,
        ):
            assert response.status == 200

    assert sent(script) == ["Bearer sesame"]
    assert sent(elsewhere) == [None]
    assert script.seen[0].headers["User-Agent"] == "kopf/1"


async def test_a_plugin_is_run_once_until_its_credential_expires_or_is_refused() -> None:
    clock = ManualClock(timestamp="2026-01-02T03:00:00Z")
    runs = 0

    async def run() -> Credential:
        nonlocal runs
        runs += 1
        expires = datetime(2026, 1, 2, 3, 10, tzinfo=UTC) + timedelta(hours=runs - 1)
        return Credential(token=f"t{runs}", expires=expires)

    def install(credential: Credential) -> None:
        pytest.fail(f"{credential} holds no certificate")

    source = PluginSource(run, install, clock)
    at_once = await asyncio.gather(source.header(), source.header())
    assert list(at_once) == ["Bearer t1", "Bearer t1"]
    clock.timestamp = "2026-01-02T03:09:49Z"
    assert await source.header() == "Bearer t1"
    clock.timestamp = "2026-01-02T03:09:50Z"
    assert await source.header() == "Bearer t2"
    # Whoever was refused with the old token needs no run: there is a newer one already.
    assert await source.renewed("Bearer t1") == "Bearer t2"
    assert await source.renewed("Bearer t2") == "Bearer t3"
    assert runs == 3


async def test_a_plugin_that_fails_later_is_transient() -> None:
    runs = iter([Credential(token="one")])  # noqa: S106 - no password

    async def run() -> Credential:
        for credential in runs:
            return credential
        raise ConfigurationError("the plugin is broken")

    script = Script(REFUSED)
    source = PluginSource(run, lambda _: None, ManualClock())
    async with connected(script, credentials=source) as cluster:
        with pytest.raises(TransientError, match="the plugin is broken"):
            await cluster.objects.rewrite(WIDGETS, WritePermit(A, "u", None))


async def test_a_server_below_a_path_is_reached() -> None:
    script = Script(FOUND)
    async with serving(script) as server:
        connection = Connection(
            server=f"{server}/k8s/clusters/c-1",
            tls=None,
            credentials=FixedSource(None),
            origin="a test",
        )
        async with connect_to(connection, ManualClock()) as cluster:
            await get(cluster)

    (seen,) = script.seen
    assert seen.path == "/k8s/clusters/c-1/apis/example.com/v1/namespaces/default/widgets/a"
    assert sent(script) == [None]
