import base64
import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest

from espalier.cluster import Cluster, FolderArchive
from espalier.cluster.archives import SecretArchive
from espalier.cluster.packing import pack
from espalier.errors import (
    ArchiveFullError,
    ClusterError,
    SourceError,
    TransientError,
)
from tests.cluster.scripted import Reply, Shelf, connected, definition, entry, status_of

# Such as no compression makes small.
NOISE = random.Random(7).randbytes(9000).hex()  # noqa: S311 - no secret


async def kept(archive: SecretArchive | FolderArchive) -> list[str]:
    return [found.key.name async for found in archive.entries(definition())]


def only(shelf: Shelf) -> dict[str, Any]:
    (held,) = shelf.objects.values()
    return held


async def test_archived_entries_are_read_back_newest_first() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        archive = cluster.archive("ns")
        name = await archive.store(definition(), [entry("a"), entry("b", {"deep": [1.5, None]})])
        await archive.store(definition("others.example.com"), [entry("z")])
        later = cluster.archive("ns")
        await later.store(definition(), [entry("c")])

        read = [found async for found in later.entries(definition())]

    assert read == [entry("c"), entry("b", {"deep": [1.5, None]}), entry("a")]
    held = shelf.objects[f"/api/v1/namespaces/ns/secrets/{name.removeprefix('ns/')}"]
    assert (held["type"], held["immutable"]) == ("espalier.dev/archive", True)
    lines = gzip.decompress(base64.b64decode(held["data"]["entries.jsonl.gz"])).splitlines()
    assert json.loads(lines[0]) == {
        "reference": {
            "apiVersion": "example.com/v1",
            "kind": "Widget",
            "namespace": "default",
            "name": "a",
        },
        "uid": "uid-of-a",
        "resourceVersion": "3",
        "patch": [{"op": "add", "path": "/spec/extra", "value": "kept"}],
    }


async def test_a_page_that_is_too_large_for_one_secret_is_split() -> None:
    shelf = Shelf()
    entries = [entry("a", NOISE), entry("b", NOISE[::-1])]
    async with connected(shelf) as cluster:
        archive = SecretArchive(cluster.client, "ns", max_part_bytes=500)
        await archive.store(definition(), entries)
        read = [found async for found in archive.entries(definition())]

    assert read == entries[::-1]
    parts = [held["metadata"]["annotations"] for held in shelf.objects.values()]
    assert len(parts) > 10
    assert {part["espalier.dev/parts"] for part in parts} == {str(len(parts))}


async def test_a_page_with_a_part_missing_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        archive = SecretArchive(cluster.client, "ns", max_part_bytes=500)
        await archive.store(definition(), [entry("a", NOISE)])
        await archive.store(definition(), [entry("b")])
        del shelf.objects[next(iter(shelf.objects))]

        assert await kept(archive) == ["b"]

    assert "incomplete" in caplog.text


async def test_a_page_whose_answer_was_lost_is_stored_once() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        archive = cluster.archive("ns")
        shelf.lost_answers.add("POST")
        with pytest.raises(TransientError):
            await archive.store(definition(), [entry("a")])
        await archive.store(definition(), [entry("a")])

        assert await kept(archive) == ["a"]
    assert len(shelf.objects) == 1


@pytest.mark.parametrize(
    "refusal",
    [
        Reply(403, status_of(403, "Forbidden", "exceeded quota")),
        Reply(404, status_of(404, "NotFound", "namespaces not found")),
        Reply(413, status_of(413, "RequestEntityTooLarge")),
        Reply(422, status_of(422, "Invalid")),
        Reply(200, {"data": {"entries.jsonl.gz": "c29tZXRoaW5nIGVsc2U="}}),
        Reply(200, "null"),
    ],
)
async def test_what_cannot_be_archived_must_not_be_removed(refusal: Reply) -> None:
    shelf = Shelf()
    shelf.refusals.append(("POST", refusal))
    async with connected(shelf) as cluster:
        with pytest.raises(ArchiveFullError, match="cannot be archived"):
            await cluster.archive("ns").store(definition(), [entry("a")])


async def test_archives_stay_below_their_cap_together_and_over_restarts() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:

        def archive() -> SecretArchive:
            return SecretArchive(cluster.client, "ns", max_total_bytes=400)

        await archive().store(definition(), [entry("a")])
        one = archive()
        await one.store(definition("others.example.com"), [entry("b")])
        for each in (one, archive()):
            with pytest.raises(ArchiveFullError, match="delete Secrets of type"):
                await each.store(definition(), [entry("c")])
        assert len(shelf.objects) == 2

        # Room that a person made is found.
        del shelf.objects[next(iter(shelf.objects))]
        await one.store(definition(), [entry("c")])
        assert await kept(one) == ["c"]


async def test_an_archive_that_does_not_tell_its_size_counts_as_a_full_one() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        await cluster.archive("ns").store(definition(), [entry("a")])
        only(shelf)["metadata"]["annotations"]["espalier.dev/bytes"] = "-1e9"

        archive = SecretArchive(cluster.client, "ns", max_total_bytes=700 * 1024)
        with pytest.raises(ArchiveFullError, match=f"hold {700 * 1024} bytes"):
            await archive.store(definition(), [entry("b")])


async def damage_and_read(cluster: Cluster, shelf: Shelf, content: bytes | None) -> None:
    archive = cluster.archive("ns")
    await archive.store(definition(), [entry("a")])
    data = "!" if content is None else base64.b64encode(content).decode()
    only(shelf)["data"]["entries.jsonl.gz"] = data
    await kept(archive)


@pytest.mark.parametrize("content", [None, b"", b"something", pack(b"{}\n")])
async def test_a_damaged_archive_is_told(content: bytes | None) -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        with pytest.raises(ClusterError, match=r"damaged|not base64"):
            await damage_and_read(cluster, shelf, content)


def modes(file: Path) -> tuple[int, int]:
    return file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777


def pages(file: Path) -> list[str]:
    return sorted(page.name.partition("-")[0] for page in file.parent.iterdir())


async def test_a_folder_keeps_pages_like_secrets_do(tmp_path: Path) -> None:
    folder = tmp_path / "not" / "there"
    archive = FolderArchive(folder)

    name = await archive.store(definition(), [entry("a"), entry("b")])
    await archive.store(definition("others.example.com"), [entry("z")])
    await FolderArchive(folder).store(definition(), [entry("c")])

    assert await kept(archive) == ["c", "b", "a"]
    assert modes(Path(name)) == (0o600, 0o700)
    assert pages(Path(name)) == ["00000001", "00000002"]


async def test_a_folder_has_a_cap(tmp_path: Path) -> None:
    archive = FolderArchive(tmp_path, max_total_bytes=300)
    await archive.store(definition(), [entry("a")])

    with pytest.raises(ArchiveFullError, match="delete what is not needed"):
        await archive.store(definition(), [entry("b")])


def damage(file: Path) -> None:
    file.write_bytes(b"something")


async def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    archive = FolderArchive(tmp_path)
    name = await archive.store(definition(), [entry("a")])
    damage(Path(name))

    with pytest.raises(SourceError, match="its digest differs"):
        await kept(archive)


async def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(ArchiveFullError, match="cannot be archived"):
        await FolderArchive(tmp_path / "file").store(definition(), [entry("a")])
