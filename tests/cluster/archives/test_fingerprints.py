"""
An archive keeps nothing twice, and its pages stay in order whoever stores them.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from espalier.cluster import FolderArchive
from espalier.cluster.archives.fingerprints import (
    MAX_ENTRIES,
    Fingerprint,
    Kept,
    is_recent,
    read_text,
    text_of,
)
from espalier.cluster.archives.secrets import SecretArchive
from espalier.engine.flowcontrol.calls import retry_while_unavailable
from espalier.engine.legacy.archive_pages import export_archive
from espalier.engine.ports.archive import ArchiveEntry
from espalier.errors import TransientError
from tests.cluster.archives.test_archives import NOISE, kept
from tests.cluster.scripted import ManualClock, Reply, Shelf, connected, definition, entry
from tests.cluster.scripted import status_of as status

Archive = SecretArchive | FolderArchive


def remove(file: str) -> None:
    Path(file).unlink()


async def stored(archive: Archive, *names: str, value: str = "kept") -> str:
    return await archive.store(definition(), [entry(name, value) for name in names])


async def keeps_nothing_twice(new_archive: Callable[[], Archive]) -> None:
    first = new_archive()
    page = await stored(first, "a", "b", "c")
    assert await stored(first, "b") == page
    # Another process, with another page, of which one entry is new.
    second = new_archive()
    await stored(second, "c", "d", "a")
    assert await stored(second, "a", "b") == page
    assert await kept(second) == ["d", "c", "b", "a"]

    # What was removed last is what comes back first, also where it is an older value again.
    await stored(second, "a", value="other")
    await stored(second, "a")
    found = [one.patch[0]["value"] async for one in second.entries(definition())]
    assert found[:2] == ["kept", "other"]
    assert await kept(second) == ["a", "a", "d", "c", "b", "a"]

    # Another object of the same name has the same fields.
    recreated = ArchiveEntry(
        api_version="example.com/v1",
        kind="Widget",
        key=entry("a").key,
        uid="another",
        resource_version="3",
        patch=entry("a").patch,
    )
    await second.store(definition(), [recreated])
    assert len(await kept(second)) == 7


async def test_secrets_keep_nothing_twice() -> None:
    async with connected(Shelf()) as cluster:
        await keeps_nothing_twice(lambda: cluster.archive("ns"))


async def test_a_folder_keeps_nothing_twice(tmp_path: Path) -> None:
    await keeps_nothing_twice(lambda: FolderArchive(tmp_path))


async def test_what_was_taken_away_meanwhile_is_archived_again() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        archive = SecretArchive(cluster.client, "ns", max_part_bytes=500)
        await archive.store(definition(), [entry("a", NOISE)])
        del shelf.objects[[*shelf.secrets][-1]]

        await archive.store(definition(), [entry("a", NOISE)])

        assert await kept(archive) == ["a"]


async def test_a_file_that_was_taken_away_meanwhile_is_archived_again(tmp_path: Path) -> None:
    archive = FolderArchive(tmp_path)
    remove(await stored(archive, "a"))

    await stored(archive, "a")

    assert await kept(archive) == ["a"]


async def test_nothing_is_entrusted_to_a_page_that_may_soon_expire() -> None:
    clock = ManualClock()
    async with connected(Shelf(), clock=clock) as cluster:
        archive = cluster.archive("ns")
        await stored(archive, "a")
        clock.timestamp = "2026-01-08T03:04:05Z"
        await stored(archive, "a")
        assert await kept(archive) == ["a"]

        clock.timestamp = "2026-01-10T03:04:05Z"
        await stored(archive, "a")
        await stored(archive, "a")

        assert await kept(archive) == ["a", "a"]


async def test_nothing_is_entrusted_to_an_old_file(tmp_path: Path) -> None:
    archive = FolderArchive(tmp_path)
    os.utime(await stored(archive, "a"), (0, 0))

    await stored(archive, "a")

    assert await kept(archive) == ["a", "a"]


async def test_a_full_archive_is_no_obstacle_to_what_it_has() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        name = await stored(cluster.archive("ns"), "a")

        full = SecretArchive(cluster.client, "ns", max_total_bytes=1)

        assert await stored(full, "a") == name


async def test_a_page_that_does_not_state_its_entries_is_not_relied_upon() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        await stored(cluster.archive("ns"), "a")
        await stored(cluster.archive("ns"), "a", value="newer")
        for held in shelf.secrets.values():
            if "00000002" in held["metadata"]["name"]:
                held["metadata"]["annotations"]["espalier.dev/entries"] = "?"

        again = cluster.archive("ns")
        await stored(again, "a")

        found = [one.patch[0]["value"] async for one in again.entries(definition())]
        assert found == ["kept", "newer", "kept"]


async def test_very_many_entries_are_read_page_by_page() -> None:
    names = [f"w{number}" for number in range(MAX_ENTRIES + 1)]
    shelf = Shelf()
    async with connected(shelf) as cluster:
        name = await stored(cluster.archive("ns"), *names)
        again = cluster.archive("ns")
        assert await stored(again, *names) == name
        pages = await again.pages()

    assert [page.objects for page in pages] == [MAX_ENTRIES, 1]
    sizes = [
        sum(map(len, held["metadata"]["annotations"].values())) for held in shelf.secrets.values()
    ]
    # The server takes 256 KiB, and a list of 500 must be taken by us.
    assert max(sizes) < 100 * 1024


async def test_a_hand_over_leaves_the_pages_in_order() -> None:
    async with connected(Shelf()) as cluster:
        operator, by_hand = cluster.archive("ns"), cluster.archive("ns")
        await stored(operator, "a")
        for name in ("b", "c"):
            await stored(by_hand, name)
        operator.begin(definition())
        await stored(operator, "d")

        assert [page.sequence for page in await operator.pages()] == [1, 2, 3, 4]
        assert await kept(operator) == ["d", "c", "b", "a"]


async def test_a_hand_over_in_the_middle_of_a_run_is_noticed() -> None:
    async with connected(Shelf()) as cluster:
        operator, by_hand = cluster.archive("ns"), cluster.archive("ns")
        await stored(operator, "a")
        await stored(by_hand, "a", value="other")
        await stored(by_hand, "b")
        # What it archived first is not the newest of the object any more.
        await stored(operator, "a")
        await stored(operator, "b")

        found = [one.patch[0]["value"] async for one in operator.entries(definition())]
        assert found == ["kept", "kept", "other", "kept"]
        assert [page.sequence for page in await operator.pages()] == [1, 2, 3, 4]
        assert await kept(operator) == ["a", "b", "a", "a"]


async def test_another_page_of_the_same_name_is_not_relied_upon() -> None:
    async with connected(Shelf()) as cluster:
        operator, by_hand = cluster.archive("ns"), cluster.archive("ns")
        name = await stored(operator, "a")
        (page,) = await operator.pages()
        await operator.remove_page(page)
        assert await stored(by_hand, "b") == name

        await stored(operator, "a")

        assert await kept(operator) == ["a", "b"]


async def test_another_page_of_the_same_name_is_not_removed() -> None:
    async with connected(Shelf()) as cluster:
        archive = cluster.archive("ns")
        await stored(archive, "a")
        (shown,) = await archive.pages()
        await archive.remove_page(shown)
        assert await stored(cluster.archive("ns"), "b") == shown.name

        await archive.remove_page(shown)

        assert await kept(archive) == ["b"]


async def test_a_name_that_is_taken_is_left_alone() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        await stored(cluster.archive("ns"), "a")
        (held,) = shelf.secrets.values()
        held["metadata"]["labels"] = {}
        held["data"] = {}

        archive = cluster.archive("ns")
        await stored(archive, "b")

        assert [page.sequence for page in await archive.pages()] == [2]


async def test_a_page_that_was_left_in_the_middle_is_no_obstacle_to_another() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        archive = SecretArchive(cluster.client, "ns", max_part_bytes=500)
        await archive.store(definition(), [entry("a", NOISE)])
        shelf.lost_answers.add("POST")
        with pytest.raises(TransientError):
            await archive.store(definition(), [entry("b", NOISE)])
        await stored(archive, "c")
        await archive.store(definition(), [entry("b", NOISE)])

        assert sorted(await kept(archive)) == ["a", "b", "c"]


async def test_a_page_that_a_killed_process_began_is_completed() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:

        def archive() -> SecretArchive:
            return SecretArchive(cluster.client, "ns", max_part_bytes=500)

        await archive().store(definition(), [entry("a", NOISE)])
        parts = len(shelf.secrets)
        for path in [*shelf.secrets][parts // 2 :]:
            del shelf.objects[path]
        await archive().store(definition(), [entry("a", NOISE)])

        assert len(shelf.secrets) == parts
        assert await kept(archive()) == ["a"]


@pytest.mark.parametrize("refused", [429, 503])
async def test_a_server_that_is_busy_for_a_while_gets_the_page_in_the_end(refused: int) -> None:
    shelf, clock = Shelf(), ManualClock()
    async with connected(shelf, clock=clock) as cluster:
        archive = cluster.archive("ns")
        shelf.refusals.extend([("POST", Reply(refused, status(refused, "Busy")))] * 3)
        await retry_while_unavailable(lambda: stored(archive, "a"), clock)

        shelf.refusals.extend([("POST", Reply(refused, status(refused, "Busy")))] * 99)
        with pytest.raises(TransientError):
            await retry_while_unavailable(lambda: stored(archive, "b"), clock)
        shelf.refusals.clear()

        assert await kept(archive) == ["a"]


async def test_an_export_keeps_the_order_of_its_source(tmp_path: Path) -> None:
    folder = FolderArchive(tmp_path)
    async with connected(Shelf()) as cluster:
        archive = cluster.archive("ns")
        for name in ("a", "b", "c"):
            await stored(archive, name)
        await export_archive(archive, folder)
        oldest, _, _ = await folder.pages()
        await folder.remove_page(oldest)

        await export_archive(archive, folder)

        assert [page.sequence for page in await folder.pages()] == [1, 2, 3]
        assert await kept(folder) == ["c", "b", "a"]


async def test_an_export_of_an_archive_that_began_anew_comes_after_the_rest(tmp_path: Path) -> None:
    folder = FolderArchive(tmp_path)
    async with connected(Shelf()) as cluster:
        archive = cluster.archive("ns")
        for name in ("a", "b"):
            await stored(archive, name)
        await export_archive(archive, folder)
        for page in await archive.pages():
            await archive.remove_page(page)
        await stored(cluster.archive("ns"), "c")

        await export_archive(archive, folder)

        assert await kept(folder) == ["c", "b", "a"]


def test_memory_is_bounded_and_what_is_asked_for_stays() -> None:
    remembered: Kept[int] = Kept(most=3)
    prints = [Fingerprint(b"%d" % number, b"x") for number in range(5)]
    remembered.add(prints[:3], 1)
    assert remembered.page_with(prints[0]) == 1
    remembered.add(prints[3:], 2)

    assert [remembered.page_with(one) for one in prints] == [1, None, None, 2, 2]
    assert remembered.page_with(Fingerprint(b"0", b"y")) is None


@pytest.mark.parametrize("text", ["?", "YQ==", "é", text_of([])])
def test_an_annotation_of_another_means_nothing(text: str) -> None:
    assert read_text(text) == []


@pytest.mark.parametrize("created", ["", "soon", "2026-01-01", "2025-12-01T00:00:00Z"])
def test_a_page_without_a_usable_date_is_not_recent(created: str) -> None:
    assert not is_recent(created, "2026-01-02T00:00:00Z")
