"""
Lists, a page at a time, across expiring tokens and a server that is away for a moment.

A continue token expires when etcd compacts the list's resource version, after some five minutes.
The server then gives a fresh one, which goes on behind the last key that was listed, at the newest
resource version. So every object that was there when the list began, and is there still, comes;
one that was created meanwhile before that key does not come. A verify pass stays a proof all the
same: whatever is created after its first page is created after the settle time, when every server
stores the storage version, and a consistent list would not show it either. Where there is no fresh
token the list begins anew, and objects come twice, which does no harm.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import NamedTuple, Protocol, TypeVar

from espalier.engine.ports import Clock
from espalier.engine.retrying import call_pause_seconds
from espalier.errors import ConversionError, ExpiredTokenError, TransientError

MAX_RESTARTS = 3
MAX_TRANSIENT_FAILURES = 6

# A server that hands out tokens which are expired at once must not be asked for ever.
MAX_FRESH_TOKENS_IN_A_ROW = 3


class Page(Protocol):
    """
    What all pages have.
    """

    @property
    def continue_token(self) -> str | None:
        """
        Asks for the next page; None after the last one.
        """


PageT = TypeVar("PageT", bound=Page)


class Listed(NamedTuple):
    """
    How a list has gone so far, told with each page.

    Attributes:
        is_consistent: Whether all pages are of one resource version.
        restarts: How often the list began anew.
    """

    is_consistent: bool
    restarts: int


async def pages(
    fetch: Callable[[str | None], Awaitable[PageT]],
    clock: Clock,
    *,
    start_token: str | None = None,
) -> AsyncIterator[tuple[PageT, Listed]]:
    """
    List every object of a resource.

    Args:
        fetch: Lists one page by its token.
        start_token: Where an earlier list is to go on; it may have expired.

    Yields:
        The pages, in the server's order.

    Raises:
        ExpiredTokenError: Tokens expire faster than pages are worked on, again and again.
        ConversionError: At once: the conversion webhook does not answer as it must.
        TransientError: The server stays busy or away.
    """
    token, listed, fresh_in_a_row, failures = start_token, Listed(start_token is None, 0), 0, 0
    while True:
        try:
            page = await fetch(token)
        except ExpiredTokenError as error:
            listed = Listed(is_consistent=False, restarts=listed.restarts)
            fresh_in_a_row += 1
            if error.fresh_token is not None and fresh_in_a_row <= MAX_FRESH_TOKENS_IN_A_ROW:
                token = error.fresh_token
                continue
            if listed.restarts == MAX_RESTARTS:
                raise
            token, listed, fresh_in_a_row = None, Listed(True, listed.restarts + 1), 0
            continue
        except ConversionError:
            raise
        except TransientError as error:
            failures += 1
            if failures > MAX_TRANSIENT_FAILURES:
                raise
            await clock.sleep(call_pause_seconds(failures, asked_seconds=error.retry_after_seconds))
            continue
        fresh_in_a_row, failures = 0, 0
        yield page, listed
        token = page.continue_token
        if not token:
            return
