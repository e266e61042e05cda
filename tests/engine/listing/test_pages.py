"""
Pages of a list: tokens that expire, servers that are busy, and the next page ahead.
"""

import asyncio
from contextlib import aclosing

import pytest

from espalier.engine.listing.pages import MAX_RESTARTS, Listing, pages
from espalier.engine.ports import Endpoint, MetadataPage
from espalier.engine.ports.records import resource_of
from espalier.errors import (
    ClusterError,
    ExpiredTokenError,
    TransientError,
)
from tests.fakes.clock import FakeClock
from tests.fakes.faults import busy, conflict, expired
from tests.fakes.widgets import widgets

ENDPOINT = resource_of(widgets(), widgets().storage)


class Pages:
    """
    A list of numbered pages, some of which fail.
    """

    def __init__(self, count: int, *failures: ClusterError) -> None:
        self.count = count
        self.failures = list(failures)
        self.asked: list[str | None] = []

    @property
    def listing(self) -> Listing[MetadataPage]:
        return Listing(fetch=self.fetch, resource=ENDPOINT, page_size=1)

    async def fetch(
        self,
        resource: Endpoint,
        *,
        page_size: int,
        continue_token: str | None,
        namespace: str = "",
    ) -> MetadataPage:
        assert (resource, page_size, namespace) == (ENDPOINT, 1, "")
        self.asked.append(continue_token)
        number = int(continue_token or 0)
        if number == 1 and self.failures:
            raise self.failures.pop(0)
        following = str(number + 1) if number + 1 < self.count else None
        return MetadataPage(
            objects=(), continue_token=following, remaining=None, resource_version=str(number)
        )


async def walk(source: Pages) -> list[tuple[str, bool, int]]:
    return [
        (page.resource_version, listed.is_consistent, listed.restarts)
        async for page, listed in pages(source.listing, FakeClock())
    ]


@pytest.mark.parametrize(
    ("failures", "walked"),
    [
        ([], [("0", True, 0), ("1", True, 0), ("2", True, 0)]),
        ([busy(), busy()], [("0", True, 0), ("1", True, 0), ("2", True, 0)]),
        ([expired("2")], [("0", True, 0), ("2", False, 0)]),
        ([expired()], [("0", True, 0), ("0", True, 1), ("1", True, 1), ("2", True, 1)]),
    ],
)
async def test_pages(failures: list[ClusterError], walked: list[tuple[str, bool, int]]) -> None:
    assert await walk(Pages(3, *failures)) == walked


async def test_lists_that_expire_for_ever_end_with_the_error() -> None:
    source = Pages(3, *[expired("1")] * 100)
    with pytest.raises(ExpiredTokenError):
        await walk(source)
    assert source.asked.count(None) == MAX_RESTARTS + 1


async def test_a_server_that_stays_away_ends_a_list() -> None:
    with pytest.raises(TransientError):
        await walk(Pages(3, *[busy()] * 100))


@pytest.mark.parametrize(("ahead", "asked"), [(False, 1), (True, 2)])
async def test_the_next_page_is_listed_ahead_where_that_is_wanted(
    *, ahead: bool, asked: int
) -> None:
    source = Pages(3)
    async with aclosing(pages(source.listing, FakeClock(), ahead=ahead)) as listed:
        await anext(listed)
        await asyncio.sleep(0)
        assert len(source.asked) == asked


async def test_what_went_wrong_ahead_is_reported_when_its_page_is_wanted() -> None:
    async with aclosing(pages(Pages(3, conflict()).listing, FakeClock(), ahead=True)) as listed:
        await anext(listed)
        await asyncio.sleep(0)
        with pytest.raises(ClusterError):
            await anext(listed)


async def test_a_list_that_is_no_longer_wanted_is_ended_with_its_request() -> None:
    ended: list[bool] = []

    class Slow(Pages):
        async def fetch(
            self,
            resource: Endpoint,
            *,
            page_size: int,
            continue_token: str | None,
            namespace: str = "",
        ) -> MetadataPage:
            if continue_token is not None:
                try:
                    await asyncio.sleep(1000)
                finally:
                    ended.append(True)
            return await super().fetch(
                resource,
                page_size=page_size,
                continue_token=continue_token,
                namespace=namespace,
            )

    listed = pages(Slow(3).listing, FakeClock(), ahead=True)
    async with aclosing(listed):
        async for _ in listed:
            await asyncio.sleep(0)
            break
    assert ended == [True]
