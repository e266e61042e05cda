from collections.abc import Callable

import pytest
from aiohttp import web

from espalier.cluster import Cluster
from espalier.cluster.resources.objects import (
    MAX_METADATA_PAGE_BYTES,
    TARGET_METADATA_PAGE_BYTES,
    TARGET_PAGE_BYTES,
)
from espalier.cluster.resources.page_sizes import PageSizes
from tests.cluster.scripted import WIDGETS, connected

LARGE_BYTES = 650_000


class Collection:
    """
    Lists objects by pages; a token is the number of objects before it.

    Attributes:
        sizes_bytes: How long each object's managedFields are.
        taken: How many objects, and how many bytes, each page had that was asked for.
    """

    def __init__(self, *sizes_bytes: int) -> None:
        self.sizes_bytes = sizes_bytes
        self.taken: list[tuple[int, int]] = []

    async def answer(self, request: web.Request) -> web.StreamResponse:
        start = int(request.query.get("continue", "0"))
        end = start + int(request.query["limit"])
        token = str(end) if end < len(self.sizes_bytes) else ""
        items = ",".join(map(self._item, range(start, min(end, len(self.sizes_bytes)))))
        page = f'{{"metadata":{{"continue":"{token}","resourceVersion":"9"}},"items":[{items}]}}'
        self.taken.append((page.count("uid"), len(page)))
        return web.Response(body=page.encode())

    def _item(self, number: int) -> str:
        fields = "x" * self.sizes_bytes[number]
        return (
            f'{{"metadata":{{"name":"w{number}","namespace":"default","uid":"u{number}",'
            f'"resourceVersion":"3","managedFields":[{{"manager":"{fields}"}}]}}}}'
        )


async def names_of(cluster: Cluster, *, whole: bool, page_size: int = 500) -> list[str]:
    token: str | None = None
    names = []
    while True:
        if whole:
            page = await cluster.objects.list_objects(
                WIDGETS, page_size=page_size, continue_token=token
            )
            names += [str(obj["metadata"]["name"]) for obj in page.objects]  # type: ignore[call-overload,index]
            token = page.continue_token
        else:
            found = await cluster.objects.list_metadata(
                WIDGETS, page_size=page_size, continue_token=token
            )
            names += [one.key.name for one in found.objects]
            token = found.continue_token
        if token is None:
            return names


async def test_pages_of_huge_managed_fields_are_bounded_by_bytes() -> None:
    server = Collection(*[LARGE_BYTES] * 60)

    async with connected(server) as cluster:
        assert await names_of(cluster, whole=False) == [f"w{number}" for number in range(60)]

    kept = [size for _, size in server.taken if size <= MAX_METADATA_PAGE_BYTES]
    assert max(kept) <= TARGET_METADATA_PAGE_BYTES
    # What came in vain came once, and most of that is never read.
    assert [count for count, _ in server.taken[:5]] == [60, 60, 31, 7, 1]
    assert len(server.taken) - len(kept) == 4
    assert sum(count for count, size in server.taken if size in kept) == 60


@pytest.mark.parametrize("whole", [False, True])
async def test_the_page_size_that_fitted_is_remembered(*, whole: bool) -> None:
    server = Collection(*[LARGE_BYTES] * 60)

    async with connected(server) as cluster:
        await names_of(cluster, whole=whole)
        server.taken.clear()
        assert len(await names_of(cluster, whole=whole)) == 60

    target_bytes = TARGET_PAGE_BYTES if whole else TARGET_METADATA_PAGE_BYTES
    assert all(size <= target_bytes for _, size in server.taken)
    # Nothing is read twice, and pages are as full as may be.
    assert sum(size for _, size in server.taken) < 1.01 * 60 * LARGE_BYTES
    assert len(server.taken) == -(-60 // (target_bytes // LARGE_BYTES))


async def test_pages_grow_again_behind_large_objects() -> None:
    server = Collection(*[LARGE_BYTES] * 10, *[100] * 2000)

    async with connected(server) as cluster:
        assert len(await names_of(cluster, whole=False)) == 2010

    counts = [count for count, _ in server.taken]
    assert counts[-2] > 200
    assert len(counts) < 30


async def test_pages_of_small_objects_are_as_large_as_they_may_be() -> None:
    server = Collection(*[100] * 1200)

    async with connected(server) as cluster:
        await names_of(cluster, whole=False)

    assert [count for count, _ in server.taken] == [500, 500, 200]


def learned(*steps: Callable[[PageSizes], None]) -> int:
    sizes = PageSizes(1000)
    for step in steps:
        step(sizes)
    return sizes.limit(WIDGETS, 500)


def page(limit: int, objects: int, size_bytes: int) -> Callable[[PageSizes], None]:
    return lambda sizes: sizes.fitted(WIDGETS, limit, objects=objects, size_bytes=size_bytes)


def too_large(limit: int) -> Callable[[PageSizes], None]:
    return lambda sizes: sizes.too_large(WIDGETS, limit)


@pytest.mark.parametrize(
    ("steps", "limit"),
    [
        ([], 500),
        ([page(500, 500, 900)], 500),
        ([page(500, 500, 5000)], 100),
        ([too_large(500)], 125),
        ([too_large(3), too_large(1)], 1),
        # It grows by half, as far as it fits, and not by a page that was asked for smaller.
        ([too_large(400), page(100, 100, 500)], 150),
        ([too_large(400), page(100, 100, 900)], 111),
        ([too_large(400), page(1, 1, 1)], 100),
        # A short page tells nothing, and neither does an empty one.
        ([too_large(400), page(100, 1, 800)], 100),
        ([too_large(400), page(100, 0, 100)], 100),
        ([page(1, 1, 5000)], 1),
    ],
)
def test_what_is_learned_of_a_page(steps: list[Callable[[PageSizes], None]], limit: int) -> None:
    assert learned(*steps) == limit
