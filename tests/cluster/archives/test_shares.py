"""
An archive counts what is stored, is shared justly, and is listed only where something has changed.
"""

import json
import random
from dataclasses import replace

import pytest

from espalier.cluster.archives.secrets import SecretArchive
from espalier.crd import Definition
from espalier.engine.legacy.archive_pages import total_bytes
from espalier.engine.ports import ObjectKey
from espalier.engine.ports.archive import ArchiveEntry
from espalier.errors import ArchiveFullError
from tests.cluster.scripted import Reply, Shelf, connected, definition, entry, status_of

CAP = 640_000
SHARE = CAP // 16
NOISE = random.Random(11)  # noqa: S311 - no secret
FORBIDDEN = Reply(403, status_of(403, "Forbidden"))


def noise(size_bytes: int) -> str:
    return NOISE.randbytes(size_bytes // 2).hex()


def in_namespace(namespace: str, name: str, value: str = "kept") -> ArchiveEntry:
    return replace(entry(name, value), key=ObjectKey(namespace, name), uid=f"{namespace}-{name}")


def stored_bytes(shelf: Shelf, crd: str = "") -> int:
    return sum(
        len(json.dumps(held, separators=(",", ":")))
        for held in shelf.secrets.values()
        if crd in held["metadata"]["annotations"]["espalier.dev/crd"]
    )


async def fill(archive: SecretArchive, crd: Definition, namespace: str, piece: int = 4000) -> int:
    """
    Archive objects of one namespace until one is refused; return how many are kept.
    """
    for number in range(1000):
        try:
            await archive.store(crd, [in_namespace(namespace, f"w{number}", noise(piece))])
        except ArchiveFullError:
            return number
    raise AssertionError("the archive takes everything")


async def test_the_archive_counts_what_is_stored() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        archive = cluster.archive("ns")
        for number in range(5):
            await archive.store(definition(), [entry(f"small{number}")])
        many = [entry(f"w{number}", noise(100)) for number in range(300)]
        await archive.store(definition(), many)
        await archive.store(definition(), [entry("large", noise(2_000_000))])
        counted = total_bytes(await archive.pages())

    assert stored_bytes(shelf) * 0.99 <= counted <= stored_bytes(shelf) * 1.05


async def test_fingerprints_and_metadata_count_towards_the_cap() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        archive = SecretArchive(cluster.client, "ns", max_total_bytes=100_000)
        await fill(archive, definition(), "default", piece=2)

    assert stored_bytes(shelf) <= 100_000


async def test_no_definition_fills_the_archive_for_the_others() -> None:
    shelf = Shelf()
    names = [f"crd{number}.example.com" for number in range(8)]
    async with connected(shelf) as cluster:
        archive = SecretArchive(cluster.client, "ns", max_total_bytes=CAP)
        for name in names:
            # Objects of many namespaces, as of definitions that many use.
            for namespace in ("a", "b", "c"):
                await fill(archive, definition(name), namespace)
        # Nor do they together for one more.
        await archive.store(definition("late.example.com"), [entry("a", noise(4000))])

    held = [stored_bytes(shelf, name) for name in names]
    assert CAP / 4 < held[0] < CAP / 2
    # Three namespaces have seven eighths of it; then another page of 3,800 bytes does not fit.
    assert min(held) > SHARE * 0.4
    assert stored_bytes(shelf) < CAP


async def test_no_namespace_fills_the_archive_of_a_definition_for_the_others() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        archive = SecretArchive(cluster.client, "ns", max_total_bytes=CAP)
        hostile = await fill(archive, definition(), "hostile")
        others = [await fill(archive, definition(), name, piece=400) for name in ("a", "b", "c")]

    assert hostile > 20
    assert min(others) >= 5


async def test_objects_of_a_namespace_that_has_had_its_share_are_left_and_named() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        archive = SecretArchive(cluster.client, "ns", max_total_bytes=CAP)
        await fill(archive, definition(), "hostile")
        page = [in_namespace("a", "first"), in_namespace("hostile", "w", noise(9000))]
        page.append(in_namespace("z", "last"))
        with pytest.raises(ArchiveFullError, match="this object's namespace") as raised:
            await archive.store(definition(), page)
        read = [found.key async for found in archive.entries(definition())]

    assert raised.value.left == {ObjectKey("hostile", "w")}
    assert read[:2] == [ObjectKey("z", "last"), ObjectKey("a", "first")]


async def test_a_namespace_is_counted_after_a_restart_too() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        first = SecretArchive(cluster.client, "ns", max_total_bytes=CAP)
        await fill(first, definition(), "hostile")
        second = SecretArchive(cluster.client, "ns", max_total_bytes=CAP)
        assert await fill(second, definition(), "hostile") == 0
        await second.store(definition(), [in_namespace("a", "first")])


async def test_pages_are_not_listed_at_each_burst() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        for number in range(50):
            archive = cluster.archive("ns")
            await archive.store(definition(), [entry(f"old{number}")])
        archive = cluster.archive("ns")
        await archive.store(definition(), [entry("first")])
        before = shelf.lists()
        for number in range(20):
            archive.begin(definition())
            await archive.store(definition(), [entry(f"new{number}")])

        assert shelf.lists() == before
        assert [page.sequence for page in await archive.pages()] == [*range(1, 72)]


async def test_a_page_that_another_process_stored_and_that_went_is_noticed() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        operator, by_hand = cluster.archive("ns"), cluster.archive("ns")
        await operator.store(definition(), [entry("a")])
        for name in ("b", "c"):
            await by_hand.store(definition(), [entry(name)])
        _, gone, _ = await by_hand.pages()
        await by_hand.remove_page(gone)

        operator.begin(definition())
        await operator.store(definition(), [entry("d")])

        read = [found.key.name async for found in operator.entries(definition())]
        assert read == ["d", "c", "a"]


@pytest.mark.parametrize("state", ["lost", "stale", "foreign", "forbidden", "behind"])
async def test_an_index_that_is_wrong_leads_to_a_listing_and_overwrites_nothing(state: str) -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        operator, by_hand = cluster.archive("ns"), cluster.archive("ns")
        await operator.store(definition(), [entry("a")])
        (path,) = [path for path in shelf.objects if "/configmaps/" in path]
        stale = dict(shelf.objects[path]["data"])
        await by_hand.store(definition(), [entry("b")])
        match state:
            case "lost":
                del shelf.objects[path]
            case "stale":
                shelf.objects[path]["data"] = stale
            case "foreign":
                shelf.objects[path]["data"] = dict.fromkeys(stale, "999999999999-7-x")
            case "behind":
                shelf.objects[path]["data"] = None
            case _:
                shelf.index_refusal = FORBIDDEN
        before = shelf.lists()
        operator.begin(definition())
        await operator.store(definition(), [entry("c")])

        assert shelf.lists() > before
        assert [page.sequence for page in await operator.pages()] == [1, 2, 3]
        assert [one.key.name async for one in operator.entries(definition())] == ["c", "b", "a"]


async def test_what_another_process_stores_counts_at_once() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        operator = SecretArchive(cluster.client, "ns", max_total_bytes=CAP)
        await operator.store(definition(), [entry("a")])
        by_hand = SecretArchive(cluster.client, "ns", max_total_bytes=CAP)
        for namespace in ("a", "b", "c"):
            await fill(by_hand, definition("others.example.com"), namespace)
        before = shelf.lists()
        operator.begin(definition())
        await fill(operator, definition(), "default")

        assert stored_bytes(shelf) < CAP
        assert stored_bytes(shelf, "widgets") < CAP / 4
        assert shelf.lists() == before


async def test_pages_of_earlier_releases_are_read_and_counted() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        await cluster.archive("ns").store(definition(), [entry("a", noise(4000))])
        for held in shelf.secrets.values():
            del held["metadata"]["annotations"]["espalier.dev/namespaces"]
        shelf.objects = shelf.secrets
        archive = SecretArchive(cluster.client, "ns", max_total_bytes=CAP)
        await archive.store(definition(), [entry("b")])

        assert [one.key.name async for one in archive.entries(definition())] == ["b", "a"]
        assert total_bytes(await archive.pages()) > 4000
