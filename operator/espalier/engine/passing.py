"""
One pass over all stored objects: list a page, work on it, tell how far it came.

The same for both kinds of definitions; they differ in what a page is and what is done with it.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Protocol, TypeVar

from espalier.engine.narrowing import Skipper
from espalier.engine.pacing import Pacer
from espalier.engine.paging import Listing, pages
from espalier.engine.ports import (
    Clock,
    ObjectKey,
    Resource,
)
from espalier.engine.sampling import sample
from espalier.engine.settings import Ports
from espalier.engine.tallying import Tally
from espalier.schema import Structural

EVERYWHERE = ("",)
"""Stands for the list of all namespaces at once."""


class Page(Protocol):
    """
    What all pages have.
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
    def last_key(self) -> ObjectKey | None:
        """
        The last object's; None on an empty page.
        """


PageT = TypeVar("PageT", bound=Page)


class Work(Protocol[PageT]):
    """
    What a pass does with its pages.
    """

    @property
    def resource(self) -> Resource:
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

    def listing(self, namespace: str) -> Listing[PageT]:
        """
        List one namespace, or all of them for an empty text.
        """

    def keys_of(self, page: PageT) -> Sequence[ObjectKey]:
        """
        Name the objects of a page.
        """

    def skipper(self) -> Skipper:
        """
        Make what gets a list past objects that the server cannot read.
        """

    async def before_writing(self, key: ObjectKey) -> None:
        """
        See, by one of a page's objects, that writing does no harm.

        Raises:
            ConversionError: The conversion webhook does not answer.
        """

    async def work_on(self, page: PageT, tally: Tally) -> None:
        """
        Bring the objects of a page into form, and count them.
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

    async def after_page(self, tally: Tally, *, token: str | None, remaining: int | None) -> None:
        """
        Take note of how far the pass came; ``token`` asks for what follows.
        """


async def pages_of(
    work: Work[PageT],
    clock: Clock,
    skipper: Skipper,
    *,
    start_token: str | None = None,
) -> AsyncGenerator[PageT, None]:
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
    work: Work[PageT],
    look_at: Callable[[PageT], None],
    clock: Clock,
    listener: Listener,
) -> None:
    """
    Read all objects, and write nothing.

    Raises:
        RunStoppedError: What is stored cannot be read, or ``look_at`` says so.
    """
    async with aclosing(pages_of(work, clock, work.skipper())) as source:
        async for page in source:
            await listener.before_page()
            look_at(page)


async def go_through(
    work: Work[PageT],
    ports: Ports,
    pacer: Pacer,
    listener: Listener,
    *,
    structural: Structural | None,
    start_token: str | None = None,
) -> Tally:
    """
    Bring all objects into form; one that cannot be brought into form never stops the others.

    Before the first write a few objects are tried as a dry run.

    Args:
        structural: The schema that the server itself applies to what it is sent, if any.

    Raises:
        RunStoppedError: Admission changes objects, or what is stored cannot be read.
        DefinitionChangedError: The definition is another by now.
        ArchiveFullError: What would be removed cannot be archived.
    """
    tally = Tally()
    skipper = work.skipper()
    is_sampled = False
    async with aclosing(pages_of(work, ports.clock, skipper, start_token=start_token)) as source:
        async for page in source:
            await listener.before_page()
            keys = work.keys_of(page)
            if keys:
                await work.before_writing(keys[0])
            if not is_sampled:
                await sample(ports.objects, work.resource, keys, pacer, structural=structural)
                is_sampled = True
            await work.work_on(page, tally)
            await listener.after_page(tally, token=page.continue_token, remaining=page.remaining)
    tally.undecodable = skipper.names
    return tally
