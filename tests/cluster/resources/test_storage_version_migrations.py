from typing import Any

import pytest

from espalier.errors import ForbiddenError, TransientError
from tests.cluster.scripted import Reply, Script, connected, definition, status_of

API = "/apis/storagemigration.k8s.io"


def migration(name: str, resource: str = "widgets", ended: str = "", **more: str) -> dict[str, Any]:
    conditions = [{"type": ended, "status": "True"}] if ended else None
    return {
        "metadata": {"name": name},
        "spec": {"resource": {"group": "example.com", "resource": resource, **more}},
        "status": {"conditions": conditions},
    }


def served(*versions: str, preferred: str = "") -> Reply:
    """
    Say in which versions the group is served.
    """
    found: dict[str, Any] = {"versions": [{"version": version} for version in versions]}
    return Reply(body=found | ({"preferredVersion": {"version": preferred}} if preferred else {}))


async def named(*replies: Reply) -> tuple[tuple[str, ...], list[str]]:
    script = Script(*replies)
    async with connected(script) as cluster:
        found = await cluster.definitions.other_migrations(definition())
    return found, [seen.path for seen in script.seen]


async def test_only_migrations_of_these_objects_that_have_not_ended_are_named() -> None:
    found, _ = await named(
        served("v1beta1"),
        Reply(
            body={
                "items": [
                    migration("pending"),
                    migration("done", ended="Succeeded"),
                    migration("failed", ended="Failed"),
                    migration("running", ended="Running"),
                    migration("of-old", version="v1alpha1"),
                    migration("others", resource="gadgets"),
                    migration("elsewhere", group="example.org"),
                ]
            }
        ),
    )
    assert found == ("pending", "running", "of-old")


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1", "v1", "v2"])
async def test_a_server_is_asked_in_the_version_that_it_serves(version: str) -> None:
    found, paths = await named(served(version), Reply(body={"items": [migration("m")]}))
    assert found == ("m",)
    assert paths == [API, f"{API}/{version}/storageversionmigrations"]


async def test_the_preferred_version_is_asked_first_and_then_the_others() -> None:
    missing = Reply(404, status_of(404, "NotFound"))
    group = served("v1alpha1", "v1beta1", preferred="v1beta1")
    found, paths = await named(group, missing, Reply(body={"items": None}))
    assert found == ()
    assert [path.split("/")[3] for path in paths[1:]] == ["v1beta1", "v1alpha1"]


async def test_a_server_without_the_group_has_none() -> None:
    found, paths = await named(Reply(404, status_of(404, "NotFound")))
    assert (found, paths) == ((), [API])


@pytest.mark.parametrize("before", [(), (served("v1"),)])
async def test_who_may_not_look_is_reported(before: tuple[Reply, ...]) -> None:
    with pytest.raises(ForbiddenError):
        await named(*before, Reply(403, status_of(403, "Forbidden")))


async def test_a_server_that_is_away_is_reported() -> None:
    with pytest.raises(TransientError):
        await named(*[Reply(503, status_of(503, "ServiceUnavailable"))] * 9)
