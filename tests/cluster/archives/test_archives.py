import base64
import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest

from espalier.cluster import Cluster, FolderArchive
from espalier.cluster.archives.compression import pack
from espalier.cluster.archives.secrets import RECOUNT_SECONDS, SecretArchive
from espalier.engine.legacy.archive_pages import (
    export_archive,
    old_pages,
    remove_pages,
    total_bytes,
)
from espalier.engine.ports.archive import UnreadablePage
from espalier.errors import (
    ArchiveFullError,
    ClusterError,
    NotFoundError,
    SourceError,
    TransientError,
)
from tests.cluster.scripted import (
    ManualClock,
    Reply,
    Shelf,
    connected,
    definition,
    entry,
    status_of,
)

# Such as no compression makes small.
NOISE = random.Random(7).randbytes(9000).hex()  # noqa: S311 - no secret


async def kept(archive: SecretArchive | FolderArchive) -> list[str]:
    return [found.key.name async for found in archive.entries(definition())]


def only(shelf: Shelf) -> dict[str, Any]:
    (held,) = shelf.secrets.values()
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
    parts = [held["metadata"]["annotations"] for held in shelf.secrets.values()]
    assert len(parts) > 10
    assert {part["espalier.dev/parts"] for part in parts} == {str(len(parts))}


async def test_a_page_with_a_part_missing_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        archive = SecretArchive(cluster.client, "ns", max_part_bytes=500)
        await archive.store(definition(), [entry("a", NOISE)])
        await archive.store(definition(), [entry("b")])
        del shelf.objects[next(iter(shelf.secrets))]

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
    assert len(shelf.secrets) == 1


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
    shelf, clock = Shelf(), ManualClock()
    async with connected(shelf, clock=clock) as cluster:

        def archive() -> SecretArchive:
            return SecretArchive(cluster.client, "ns", max_total_bytes=9600)

        await archive().store(definition(), [entry("a")])
        one = archive()
        await one.store(definition("others.example.com"), [entry("b")])
        for each in (one, archive()):
            with pytest.raises(ArchiveFullError, match="have had their share"):
                await each.store(definition(), [entry("c")])
        assert len(shelf.secrets) == 2

        # Room that a person made is found.
        del shelf.objects[next(iter(shelf.secrets))]
        clock.now_seconds += RECOUNT_SECONDS
        await one.store(definition(), [entry("c")])
        assert await kept(one) == ["c"]


async def test_an_archive_that_does_not_state_its_size_counts_as_a_full_one() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        await cluster.archive("ns").store(definition(), [entry("a")])
        only(shelf)["metadata"]["annotations"]["espalier.dev/bytes"] = "-1e9"

        # In base64, and with its metadata.
        archive = SecretArchive(cluster.client, "ns", max_total_bytes=1024 * 1024)
        with pytest.raises(ArchiveFullError, match=r"hold 956\d{3} bytes"):
            await archive.store(definition(), [entry("b")])


async def damage_and_read(cluster: Cluster, shelf: Shelf, content: bytes | None) -> None:
    archive = cluster.archive("ns")
    await archive.store(definition(), [entry("a")])
    data = "!" if content is None else base64.b64encode(content).decode()
    only(shelf)["data"]["entries.jsonl.gz"] = data
    await kept(archive)


@pytest.mark.parametrize("content", [None, b"", b"something", pack(b"{}\n")])
async def test_a_damaged_archive_is_reported(content: bytes | None) -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        with pytest.raises(ClusterError, match=r"damaged|not base64"):
            await damage_and_read(cluster, shelf, content)


def modes(file: Path) -> tuple[int, int]:
    return file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777


def pages(file: Path) -> list[str]:
    return sorted(page.name.partition("-")[0] for page in file.parent.glob("*.gz"))


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

    with pytest.raises(ArchiveFullError, match="delete files that are no longer needed"):
        await archive.store(definition(), [entry("b")])


def damage(file: Path) -> None:
    file.write_bytes(b"something")


async def test_a_damaged_file_is_reported(tmp_path: Path) -> None:
    archive = FolderArchive(tmp_path)
    name = await archive.store(definition(), [entry("a")])
    damage(Path(name))

    with pytest.raises(SourceError, match="its digest differs"):
        await kept(archive)


async def test_a_folder_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(ArchiveFullError, match="cannot be archived"):
        await FolderArchive(tmp_path / "file").store(definition(), [entry("a")])


async def test_pages_are_listed_and_read_also_those_of_other_definitions() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        archive = SecretArchive(cluster.client, "ns", max_part_bytes=500)
        name = await archive.store(definition(), [entry("a", NOISE), entry("b")])
        await archive.store(definition(), [entry("c")])
        await archive.store(definition("others.example.com"), [entry("z")])

        everything = await archive.pages()
        first, second = await archive.pages(definition().name)
        read = await archive.read_page(first)

    assert [page.crd for page in everything] == [
        "others.example.com",
        definition().name,
        definition().name,
    ]
    assert (first.name, first.sequence, first.objects) == (name, 1, 2)
    assert (second.sequence, second.objects, second.is_whole) == (2, 1, True)
    assert first.created.endswith("Z")
    assert total_bytes([first]) > 500
    assert [one.key.name for one in read] == ["a", "b"]


async def test_a_page_with_a_part_missing_is_listed_as_such_and_can_be_removed() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        archive = SecretArchive(cluster.client, "ns", max_part_bytes=500)
        await archive.store(definition(), [entry("a", NOISE)])
        del shelf.objects[next(iter(shelf.secrets))]
        (page,) = await archive.pages()
        assert not page.is_whole
        with pytest.raises(ClusterError, match="a part is missing"):
            await archive.read_page(page)

        await archive.remove_page(page)
        await archive.remove_page(page)

        assert shelf.secrets == {}
        with pytest.raises(NotFoundError):
            await archive.read_page(page)


async def test_an_archive_is_exported_once_and_read_from_the_folder(tmp_path: Path) -> None:
    shelf = Shelf()
    folder = FolderArchive(tmp_path)
    async with connected(shelf) as cluster:
        archive = cluster.archive("ns")
        await archive.store(definition(), [entry("a"), entry("b")])
        await archive.store(definition(), [entry("c")])
        made = [page.created for page in await archive.pages()]
        first = await export_archive(archive, folder)
        again = await export_archive(archive, folder)

    assert [copied.name for copied in first] == [copied.name for copied in again]
    assert await kept(folder) == ["c", "b", "a"]
    copies = await folder.pages()
    assert [(copy.crd, copy.sequence, copy.objects) for copy in copies] == [
        (definition().name, 1, 2),
        (definition().name, 2, 1),
    ]
    assert [copy.created for copy in copies] == made
    assert len(shelf.secrets) == 2


async def test_what_is_not_whole_is_not_exported(tmp_path: Path) -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        archive = SecretArchive(cluster.client, "ns", max_part_bytes=500)
        await archive.store(definition(), [entry("a", NOISE)])
        del shelf.objects[next(iter(shelf.secrets))]
        (copied,) = await export_archive(archive, FolderArchive(tmp_path))
    assert copied.name == ""
    assert await FolderArchive(tmp_path).pages() == ()


async def test_old_pages_expire_and_younger_ones_and_undated_ones_stay() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        archive = cluster.archive("ns")
        for name in ("old", "young", "undated"):
            await archive.store(definition(), [entry(name)])
        dates = ["2026-01-01T00:00:00Z", "2026-01-03T00:00:00Z", ""]
        for held, date in zip(shelf.secrets.values(), dates, strict=True):
            held["metadata"]["annotations"]["espalier.dev/created"] = date

        (old,) = await old_pages(archive, now="2026-01-03T12:00:00Z", age_seconds=86400.0)
        assert await kept(archive) == ["undated", "young", "old"]
        # What grows old while somebody thinks it over was not shown.
        for held in shelf.secrets.values():
            held["metadata"]["annotations"]["espalier.dev/created"] = dates[0]
        await remove_pages(archive, [old])
        assert await kept(archive) == ["undated", "young"]


async def test_a_folder_s_pages_expire_too(tmp_path: Path) -> None:
    archive = FolderArchive(tmp_path)
    name = await archive.store(definition(), [entry("a")])
    (page,) = await archive.pages(definition().name)
    assert (page.name, page.objects, page.is_whole) == (name, 1, True)

    old = await old_pages(archive, now="2999-01-01T00:00:00Z", age_seconds=1)
    assert old == (page,)
    await remove_pages(archive, old)

    assert await archive.pages() == ()
    await archive.remove_page(page)


async def test_pages_that_cannot_be_read_are_passed_over_and_reported() -> None:
    shelf = Shelf()
    passed: list[UnreadablePage] = []
    async with connected(shelf) as cluster:
        archive = SecretArchive(cluster.client, "ns", max_part_bytes=500)
        names = [
            await archive.store(definition(), [entry(name, NOISE)])
            for name in ("oldest", "gone", "cut", "damaged", "newest")
        ]
        paths = [f"/api/v1/namespaces/{name.replace('/', '/secrets/')}" for name in names]
        shelf.objects[paths[3]]["data"]["entries.jsonl.gz"] = ""
        del shelf.objects[paths[2].removesuffix("1") + "2"]
        read = []
        async for found in archive.entries(definition(), pass_over=passed.append):
            read.append(found.key.name)
            # Somebody expires a page while others are read.
            shelf.objects.pop(paths[1], None)

    assert read == ["newest", "oldest"]
    assert [page.name for page in passed] == [names[3], names[2], names[1]]
    assert [page.reason.rpartition(": ")[2] for page in passed][:2] == [
        "its digest differs",
        "a part is missing",
    ]
    assert "404" in passed[2].reason


async def test_files_that_cannot_be_read_are_passed_over_and_reported(tmp_path: Path) -> None:
    passed: list[UnreadablePage] = []
    archive = FolderArchive(tmp_path)
    await archive.store(definition(), [entry("a")])
    name = await archive.store(definition(), [entry("b")])
    damage(Path(name))

    read = [found async for found in archive.entries(definition(), pass_over=passed.append)]

    assert [found.key.name for found in read] == ["a"]
    assert passed == [UnreadablePage(name, "the archive is damaged: its digest differs")]
