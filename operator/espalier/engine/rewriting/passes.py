"""
One pass over all stored objects: list a page, work on it, tell how far it came.

The same for both kinds of definitions; they differ in what a page is and what is done with it.
"""

from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import aclosing
from typing import Protocol, TypeVar

from espalier.engine.listing.pages import Listing, pages
from espalier.engine.listing.undecodable import UndecodableSkipper
from espalier.engine.ports import Endpoint, ObjectKey
from espalier.engine.ports.clock import Clock
from espalier.engine.rewriting.outages import count_failure
from espalier.engine.rewriting.preflight import Preflight
from espalier.engine.rewriting.retries import Failed, Gone, Rewritten, Unchanged, WriteResult
from espalier.engine.status.tally import Tally
from espalier.paths import JSON

EVERYWHERE = ("",)
"""Stands for the list of all namespaces at once."""

ItemT = TypeVar("ItemT")
ItemT_co = TypeVar("ItemT_co", covariant=True)


class ItemPage(Protocol[ItemT_co]):
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
        How many objects follow, if the server said so.
        """

    @property
    def unread(self) -> Collection[str]:
        """
        Names of objects in it that could not be decoded, as far as somebody iterated.
        """


class PageWork(Protocol[ItemT]):
    """
    What a pass does with the items of its pages.
    """

    @property
    def resource(self) -> Endpoint:
        """
        Whose objects they are.
        """

    @property
    def namespaces(self) -> Sequence[str]:
        """
        What to list, one after another; an empty text stands for all.
        """

    @property
    def lists_ahead(self) -> bool:
        """
        Whether two of its pages may be in memory.
        """

    def listing(self, namespace: str) -> Listing[ItemPage[ItemT]]:
        """
        List one namespace, or all of them for an empty text.
        """

    def skipper(self) -> UndecodableSkipper:
        """
        Make what gets a list past objects that the server cannot read.
        """

    def item_of(self, obj: dict[str, JSON]) -> ItemT:
        """
        Make an item of a whole object.
        """

    def key_of(self, item: ItemT) -> ObjectKey:
        """
        Name an item.
        """

    def is_skipped(self, item: ItemT) -> bool:
        """
        Tell whether an object is to be left alone.
        """

    async def work_on(self, items: Sequence[ItemT], tally: Tally) -> None:
        """
        Bring objects into form, and count them.
        """


class Listener(Protocol):
    """
    Is told of each page.
    """

    async def before_page(self) -> None:
        """
        Look whether the pass may go on.

        Raises:
            DefinitionChangedError: The definition is another by now.
            RunStoppedError: Something else speaks against it.
        """

    def begin(self, tally: Tally) -> None:
        """
        Take note of what a pass is going to count in.
        """

    async def after_page(self, tally: Tally, *, token: str | None, remaining: int | None) -> None:
        """
        Take note of how far the pass came; ``token`` asks for what follows.
        """


async def pages_of(
    work: PageWork[ItemT],
    clock: Clock,
    skipper: UndecodableSkipper,
    *,
    start_token: str | None = None,
) -> AsyncGenerator[ItemPage[ItemT], None]:
    """
    List some namespaces one after another, or all objects at once.

    Args:
        start_token: Where an earlier list is to go on; only if there is one list.
    """
    for namespace in work.namespaces:
        source = pages(
            work.listing(namespace),
            clock,
            start_token=start_token,
            skipper=skipper,
            ahead=work.lists_ahead,
        )
        async with aclosing(source):
            async for page, _ in source:
                yield page


async def read_all(
    work: PageWork[ItemT],
    look_at: Callable[[ItemT], object],
    clock: Clock,
    listener: Listener,
) -> tuple[str, ...]:
    """
    Look at all objects that are not to be left alone, and write nothing.

    Returns:
        The objects that could not be read, so that nobody has looked at them.

    Raises:
        EspalierError: The objects cannot be listed, or ``look_at`` or the listener says so.
    """
    skipper = work.skipper()
    async with aclosing(pages_of(work, clock, skipper)) as source:
        async for page in source:
            await listener.before_page()
            for item in page.objects:
                if not work.is_skipped(item):
                    look_at(item)
    return skipper.names


async def go_through(
    work: PageWork[ItemT],
    preflight: Preflight,
    clock: Clock,
    listener: Listener,
    *,
    start_token: str | None = None,
) -> Tally:
    """
    Bring all objects into form; one that cannot be brought into form never stops the others.

    Raises:
        RunStoppedError: Admission changes objects, or what is stored cannot be read.
        DefinitionChangedError: The definition is another by now.
        ArchiveFullError: What would be removed cannot be archived.
        ClusterError: The server cannot be worked with at all.
    """
    tally = Tally()
    listener.begin(tally)
    skipper = work.skipper()
    async with aclosing(pages_of(work, clock, skipper, start_token=start_token)) as source:
        async for page in source:
            await listener.before_page()
            await bring_into_form(work, preflight, page.objects, tally)
            await listener.after_page(tally, token=page.continue_token, remaining=page.remaining)
    tally.undecodable = skipper.names
    return tally


async def bring_into_form(
    work: PageWork[ItemT], preflight: Preflight, items: Sequence[ItemT], tally: Tally
) -> None:
    """
    Work on all items but those that are to be left alone, once nothing speaks against it.

    Raises:
        EspalierError: As ``go_through``.
    """
    tally.namespaces.update(work.key_of(item).namespace for item in items)
    wanted = []
    for item in items:
        if work.is_skipped(item):
            tally.seen += 1
            tally.skipped.add(work.key_of(item))
        else:
            wanted.append(item)
    await preflight.look([work.key_of(item) for item in wanted])
    tally.admission = preflight.note()
    await work.work_on(wanted, tally)


def count(tally: Tally, key: ObjectKey, fate: WriteResult) -> None:
    """
    Count what became of an object.

    Raises:
        RunStoppedError: None can be written any more.
    """
    tally.seen += 1
    match fate:
        case Rewritten(is_pruned=is_pruned):
            tally.rewrite(key, is_pruned=is_pruned)
        case Unchanged():
            tally.unchanged += 1
        case Gone():
            tally.gone += 1
        case Failed():
            count_failure(tally, key, fate)
            return
    tally.outage = 0
