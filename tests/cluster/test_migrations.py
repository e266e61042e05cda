from typing import Any

import pytest

from espalier.errors import TransientError
from tests.cluster.scripted import Reply, Script, connected, definition, status_of

API = "/apis/storagemigration.k8s.io"


def migration(name: str, resource: str = "widgets", ended: str = "", **more: str) -> dict[str, Any]:
    conditions = [{"type": ended, "status": "True"}] if ended else None
    return {
        "metadata": {"name": name},
        "spec": {"resource": {"group": "example.com", "resource": resource, **more}},
        "status": {"conditions": conditions},
    }


async def named(*replies: Reply) -> tuple[tuple[str, ...], list[str]]:
    script = Script(*replies)
    async with connected(script) as cluster:
        found = await cluster.definitions.other_migrations(definition())
    return found, [seen.path for seen in script.seen]


async def test_only_migrations_of_these_objects_that_have_not_ended_are_named() -> None:
    found, _ = await named(
        Reply(
            body={
                "items": [
                    migration("pending"),
                    migration("done", ended="Succeeded"),
                    migration("failed", ended="Failed"),
                    migration("running", ended="Running"),
                    migration("others", resource="gadgets"),
                    migration("elsewhere", group="example.org"),
                ]
            }
        )
    )
    assert found == ("pending", "running")


async def test_older_servers_are_asked_in_their_version() -> None:
    missing = Reply(404, status_of(404, "NotFound"))
    found, paths = await named(missing, Reply(body={"items": None}))
    assert found == ()
    assert paths == [f"{API}/{name}/storageversionmigrations" for name in ("v1", "v1beta1")]


@pytest.mark.parametrize(("status", "count"), [(404, 2), (403, 1)])
async def test_where_nothing_can_be_seen_nothing_is_named(status: int, count: int) -> None:
    found, paths = await named(*[Reply(status, status_of(status, "x"))] * count)
    assert (found, len(paths)) == ((), count)


async def test_a_server_that_is_away_is_told() -> None:
    with pytest.raises(TransientError):
        await named(*[Reply(503, status_of(503, "ServiceUnavailable"))] * 9)
