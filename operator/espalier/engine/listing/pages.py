"""
Lists, a page at a time, across expiring tokens and a server that is away for a moment.

A continue token expires when etcd compacts the list's resource version, after some five minutes.
The server then gives a fresh one, which goes on behind the last key that was listed, at the newest
resource version. So every object that was there when the list began, and is there still, comes;
one that was created meanwhile before that key does not come. Such a list is no proof for a verify
pass: etcd may have been restored from a backup, so that what was listed before is old again. Where
there is no fresh token the list begins anew, at one resource version, and proves as any other; what
came before comes twice, which does no harm. So it does where a server
does not take the token of an earlier list, which may be damaged, or of a revision before a restore.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Collection, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

from espalier.engine.flowcontrol.backoff import call_pause_seconds
from espalier.engine.listing.conversions import as_unavailable
from espalier.engine.listing.undecodable import SHRINKING, UndecodableSkipper
from espalier.engine.ports import Endpoint
from espalier.engine.ports.clock import Clock
from espalier.errors import (
    ConversionError,
    ExpiredTokenError,
    RejectedError,
    TransientError,
    UndecodableError,
)

MAX_RESTARTS = 3
MAX_TRANSIENT_FAILURES = 6

# A server that hands out tokens which are expired at once must not be asked for ever.
MAX_FRESH_TOKENS_IN_A_ROW = 3

ItemT_co = TypeVar("ItemT_co", covariant=True)


class Page(Protocol[ItemT_co]):
    """
    What all pages have.
    """

    @property
    def objects(self) -> Sequence[ItemT_co]:
        """
        The objects, as whole ones or their metadata.
        """

    @property
    def continue_token(self) -> str | None:
        """
        Asks for the next page; None after the last one.
        """

    @property
    def remaining(self) -> int | None:
        """
        How many objects follow, if the server reported it.
        """

    @property
    def unread(self) -> Collection[str]:
        """
        Names of objects in it that could not be decoded, as far as the caller iterated.
        """


PageT = TypeVar("PageT", bound=Page[object])
PageT_co = TypeVar("PageT_co", bound=Page[object], covariant=True)


class Fetch(Protocol[PageT_co]):
    """
    Lists one page of a resource; ``Objects.list_metadata`` and ``Objects.list_objects`` are such.
    """

    def __call__(
        self,
        resource: Endpoint,
        *,
        page_size: int,
        continue_token: str | None,
        namespace: str = "",
    ) -> Awaitable[PageT_co]:
        """
        List one page by its token, of one namespace or of all.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing(Generic[PageT_co]):
    """
    One list of objects at one version.

    Attributes:
        page_size: The most objects in a page.
        namespace: The one that is listed; empty for all.
    """

    fetch: Fetch[PageT_co]
    resource: Endpoint
    page_size: int
    namespace: str = ""

    async def page_at(self, token: str | None, *, page_size: int) -> PageT_co:
        """
        List one page by its token.
        """
        return await self.fetch(
            self.resource, page_size=page_size, continue_token=token, namespace=self.namespace
        )


class Listed(NamedTuple):
    """
    How a list has gone so far; it comes with each page.

    Attributes:
        is_consistent: Whether all pages are of one resource version.
        restarts: How often the list began anew.
    """

    is_consistent: bool
    restarts: int


async def pages(
    listing: Listing[PageT],
    clock: Clock,
    *,
    start_token: str | None = None,
    skipper: UndecodableSkipper | None = None,
    ahead: bool = False,
) -> AsyncGenerator[tuple[PageT, Listed], None]:
    """
    List every object of a resource.

    A caller that does not take all pages closes the generator, as by ``contextlib.aclosing``.

    Args:
        start_token: Where an earlier list is to go on; it may have expired.
        skipper: Gets the list past objects that cannot be read, and keeps their names; without it,
            one that the server cannot read ends the list.
        ahead: List the next page while this one is worked on, so that writes need not wait for it.
            Two pages are in memory then.

    Yields:
        The pages, in the server's order.

    Raises:
        ExpiredTokenError: Tokens expire faster than pages are worked on, again and again.
        ConversionError: The conversion webhook converts no other object either.
        TransientError: The server stays busy or away.
        UndecodableError: There is no skipper.
    """
    course = _Course(listing, clock, start_token, skipper)
    begun: asyncio.Task[PageT | None] | None = None
    try:
        while True:
            page = await (begun if begun is not None else course.next_page())
            if page is None:
                return
            listed, goes_on = course.listed, course.advance(page)
            if ahead and goes_on:
                begun = asyncio.create_task(course.next_page())
            yield page, listed
            if skipper is not None:
                skipper.note(page.unread)
            if not goes_on:
                return
    finally:
        if begun is not None:
            begun.cancel()
            await asyncio.gather(begun, return_exceptions=True)


class _Course(Generic[PageT]):
    """
    Where a list is, and what went wrong on its way.
    """

    def __init__(
        self,
        listing: Listing[PageT],
        clock: Clock,
        start_token: str | None,
        skipper: UndecodableSkipper | None,
    ) -> None:
        self._listing = listing
        self._clock = clock
        self._skipper = skipper
        self._token = start_token
        self._page_size = listing.page_size
        self._behind: int | None = None
        self._is_resuming = start_token is not None
        self._stuck: UndecodableError | ConversionError | None = None
        self._fresh_in_a_row = 0
        self._failures = 0
        self.listed = Listed(is_consistent=start_token is None, restarts=0)

    async def next_page(self) -> PageT | None:
        """
        List the next page; None if it is not known where the list goes on.
        """
        while True:
            try:
                if self._stuck is not None and not await self._narrow(self._stuck):
                    return None
                self._stuck = None
                return await self._listing.page_at(self._token, page_size=self._page_size)
            except ExpiredTokenError as error:
                self._go_on_from(error)
            except (UndecodableError, ConversionError) as error:
                if self._skipper is None:
                    raise
                if not await self._may_pass_over(error, self._skipper):
                    raise as_unavailable(error) from error
                self._stuck = error
            except TransientError as error:
                await self._wait(error)
            except RejectedError:
                if not self._is_resuming:
                    raise
                self._begin_anew()

    def advance(self, page: PageT) -> bool:
        """
        Go on behind a page; False after the last one.
        """
        self._fresh_in_a_row = self._failures = 0
        self._is_resuming = False
        self._page_size = min(self._page_size * SHRINKING, self._listing.page_size)
        self._behind = page.remaining
        self._token = page.continue_token
        return bool(self._token)

    async def _wait(self, error: TransientError) -> None:
        self._failures += 1
        if self._failures <= MAX_TRANSIENT_FAILURES:
            pause_seconds = call_pause_seconds(
                self._failures, asked_seconds=error.retry_after_seconds
            )
            await self._clock.sleep(pause_seconds)
        elif self._is_resuming:
            # A token of a future revision, too, is reported as expired each time.
            self._begin_anew()
        else:
            raise error

    def _begin_anew(self) -> None:
        self._token, self._behind, self._stuck = None, None, None
        self._fresh_in_a_row = self._failures = 0
        self._is_resuming = False
        self.listed = Listed(is_consistent=True, restarts=self.listed.restarts + 1)

    def _go_on_from(self, error: ExpiredTokenError) -> None:
        self.listed = Listed(is_consistent=False, restarts=self.listed.restarts)
        self._fresh_in_a_row += 1
        if error.fresh_token is not None and self._fresh_in_a_row <= MAX_FRESH_TOKENS_IN_A_ROW:
            self._token = error.fresh_token
            return
        if self.listed.restarts == MAX_RESTARTS:
            raise error
        self._begin_anew()

    async def _may_pass_over(
        self, error: UndecodableError | ConversionError, skipper: UndecodableSkipper
    ) -> bool:
        """
        Report whether the list may go on without the objects that cannot be read.
        """
        # A page that is refused is first made smaller, until it is one object.
        if self._page_size > 1 and not isinstance(error, ConversionError):
            return True
        return await skipper.is_about_one(
            error, namespace=self._listing.namespace, token=self._token
        )

    async def _narrow(self, error: UndecodableError | ConversionError) -> bool:
        """
        Make the page smaller, or skip its one object; False if it is not known where to go on.
        """
        if self._page_size > 1:
            self._page_size = max(1, self._page_size // SHRINKING)
            return True
        self.listed = Listed(is_consistent=False, restarts=self.listed.restarts)
        assert self._skipper is not None  # noqa: S101 - without one the list has ended
        token = await self._skipper.token_behind(
            error, namespace=self._listing.namespace, token=self._token, behind=self._behind
        )
        if self._behind is not None:
            self._behind -= 1
        self._token = token
        return token is not None
