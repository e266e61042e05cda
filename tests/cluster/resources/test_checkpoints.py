import base64
import gzip
from typing import Any

import pytest

from espalier.cluster.archives.compression import pack, unpack
from espalier.errors import ConflictError, RejectedError, TransientError
from tests.cluster.scripted import Reply, Script, Shelf, connected, definition, status_of


def only(shelf: Shelf) -> dict[str, Any]:
    (held,) = shelf.objects.values()
    return held


async def test_a_checkpoint_outlives_the_process_and_not_its_definition() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        before = cluster.checkpoints("ns")
        assert await before.load(definition()) is None
        await before.save(definition(), {"pages": 1})
        await before.save(definition(), {"pages": 2})

        after = cluster.checkpoints("ns")
        assert await after.load(definition()) == {"pages": 2}
        assert await after.load(definition("others.example.com")) is None
        assert await after.load(definition(uid="another")) is None
        await after.save(definition(uid="another"), {"pages": 0})
        assert await cluster.checkpoints("ns").load(definition(uid="another")) == {"pages": 0}

    held = only(shelf)
    assert held["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "espalier"
    assert held["metadata"]["annotations"]["espalier.dev/crd"] == "widgets.example.com"
    assert held["metadata"]["ownerReferences"][0]["uid"] == "another"


async def test_a_name_that_no_server_accepts_leads_nowhere_else() -> None:
    script = Script(Reply(404, status_of(404, "NotFound")))
    async with connected(script) as cluster:
        assert await cluster.checkpoints("ns").load(definition("a/../\x00")) is None

    (seen,) = script.seen
    assert "/ns/configmaps/checkpoint-a%2F..%2F%00-" in seen.path


async def test_a_second_writer_of_a_checkpoint_is_noticed() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        one, two = cluster.checkpoints("ns"), cluster.checkpoints("ns")
        await one.save(definition(), {"by": "one"})
        await two.save(definition(), {"by": "two"})

        with pytest.raises(ConflictError):
            await one.save(definition(), {"by": "one again"})
        assert await two.load(definition()) == {"by": "two"}


async def test_a_checkpoint_whose_answer_was_lost_is_no_conflict() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        checkpoints = cluster.checkpoints("ns")
        await checkpoints.save(definition(), {"pages": 1})
        shelf.lost_answers.add("PUT")
        with pytest.raises(TransientError):
            await checkpoints.save(definition(), {"pages": 2})
        await checkpoints.save(definition(), {"pages": 2})

        assert await checkpoints.load(definition()) == {"pages": 2}


async def test_a_checkpoint_that_was_taken_away_is_made_anew() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        checkpoints = cluster.checkpoints("ns")
        await checkpoints.save(definition(), {"pages": 1})
        shelf.objects.clear()
        await checkpoints.save(definition(), {"pages": 2})

        assert await checkpoints.load(definition()) == {"pages": 2}


@pytest.mark.parametrize(
    "data",
    [
        "!",
        base64.b64encode(b"no gzip").decode(),
        base64.b64encode(pack(b"[]")).decode(),
        base64.b64encode(pack(b"{")).decode(),
        base64.b64encode(pack(b"{}")[:-4]).decode(),
    ],
)
async def test_a_damaged_checkpoint_is_not_taken_for_none(data: str) -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        checkpoints = cluster.checkpoints("ns")
        await checkpoints.save(definition(), {"pages": 1})
        only(shelf)["binaryData"]["checkpoint.json.gz"] = data

        with pytest.raises(RejectedError, match="delete it to start from"):
            await checkpoints.load(definition())


async def test_a_checkpoint_that_is_too_large_is_reported() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        with pytest.raises(RejectedError, match="CheckpointTooLarge"):
            await cluster.checkpoints("ns").save(
                definition(), {str(i): hash((i, "x")) for i in range(100_000)}
            )

    assert shelf.objects == {}


def test_nothing_unpacks_without_bounds() -> None:
    bomb = gzip.compress(b"0" * 10_000_000)

    with pytest.raises(ValueError, match="more than 1000 bytes"):
        unpack(bomb, max_bytes=1000)
    assert unpack(pack(b"0" * 1000), max_bytes=1000) == b"0" * 1000
