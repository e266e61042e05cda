"""
One pass over all stored objects: list a page, work on it, report how far it came.

The same for both kinds of definitions. It calls the workload, which never calls back.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Generic, Protocol, TypeVar

from espalier.engine.listing.pages import Listed, Page, pages
from espalier.engine.listing.undecodable import UndecodableSkipper
from espalier.engine.ports import ObjectKey
from espalier.engine.rewriting.preflight import Preflight
from espalier.engine.rewriting.settled_writes import Sample
from espalier.engine.rewriting.workload import Workload
from espalier.engine.status.tally import Tally

ItemT = TypeVar("ItemT")


class Listener(Protocol):
    """
    Called before and after each page.
    """

    async def before_page(self) -> None:
        """
        Check that the pass may go on.

        Raises:
            DefinitionChangedError: The definition was deleted, replaced or changed.
            RunStoppedError: The pass must stop for another reason.
        """

    def begin(self, tally: Tally) -> None:
        """
        Record the tally in which a pass is going to count.
        """

    async def after_page(self, tally: Tally, *, token: str | None, remaining: int | None) -> None:
        """
        Record how far the pass came; ``token`` is the continue token of the next page.
        """


class Passes(Generic[ItemT]):
    """
    Passes over the objects of one workload.

    Args:
        listener: Called before and after each page.
    """

    def __init__(self, work: Workload[ItemT], listener: Listener) -> None:
        self._work = work
        self._listener = listener

    async def read_all(self, look_at: Callable[[ItemT], object]) -> tuple[str, ...]:
        """
        Look at all objects that are not to be left alone, and write nothing.

        Returns:
            The objects that could not be read, so that ``look_at`` was not called with them.

        Raises:
            EspalierError: The objects cannot be listed, or ``look_at`` or the listener raised it.
        """
        work = self._work
        skipper = work.skipper()
        async with aclosing(self._pages(skipper)) as source:
            async for page, _ in source:
                await self._listener.before_page()
                for item in page.objects:
                    if not work.is_skipped(item):
                        look_at(item)
        return skipper.names

    async def go_through(self, *, start_token: str | None, sample: Sample | None = None) -> Tally:
        """
        Bring all objects into form; one that cannot be brought into form never stops the others.

        Args:
            start_token: Where an earlier pass is to go on; only if there is one list.
            sample: Leave out what a write has proved, but for this sample; None leaves out nothing.

        Raises:
            RunStoppedError: Admission changes objects, or what is stored cannot be read.
            DefinitionChangedError: The definition was deleted, replaced or changed.
            ArchiveFullError: What would be removed cannot be archived.
            ClusterError: The server cannot be worked with at all.
        """
        listener, preflight = self._listener, self._work.preflight()
        tally = Tally()
        listener.begin(tally)
        skipper = self._work.skipper()
        async with aclosing(self._pages(skipper, start_token=start_token)) as source:
            async for page, listed in source:
                tally.is_consistent = tally.is_consistent and listed.is_consistent
                await listener.before_page()
                await self._bring_into_form(preflight, page.objects, tally, sample)
                await listener.after_page(
                    tally, token=page.continue_token, remaining=page.remaining
                )
        tally.undecodable = skipper.names
        self._work.end_pass()
        return tally

    async def try_again(self, keys: Sequence[ObjectKey]) -> Tally:
        """
        Bring some objects alone into form, by name, as many at a time as a page has.

        Raises:
            EspalierError: As ``go_through``.
        """
        listener, work = self._listener, self._work
        tally = Tally()
        listener.begin(tally)
        preflight = work.preflight()
        for start in range(0, len(keys), work.page_size):
            await listener.before_page()
            some = keys[start : start + work.page_size]
            await self._bring_into_form(preflight, await work.read_again(some, tally), tally)
            left = len(keys) - start - len(some)
            await listener.after_page(tally, token=None, remaining=left)
        return tally

    async def _pages(
        self, skipper: UndecodableSkipper, *, start_token: str | None = None
    ) -> AsyncGenerator[tuple[Page[ItemT], Listed], None]:
        """
        List the objects of the chosen namespaces, one namespace after another, or all objects.
        """
        work = self._work
        for namespace in work.namespaces:
            source = pages(
                work.listing(namespace),
                work.clock,
                start_token=start_token,
                skipper=skipper,
                ahead=work.lists_ahead,
            )
            async with aclosing(source):
                async for page, listed in source:
                    yield page, listed

    async def _bring_into_form(
        self,
        preflight: Preflight,
        items: Sequence[ItemT],
        tally: Tally,
        sample: Sample | None = None,
    ) -> None:
        """
        Work on all items but those that are to be left alone, once nothing speaks against it.
        """
        work = self._work
        tally.namespaces.update(work.key_of(item).namespace for item in items)
        kept = []
        for item in items:
            if work.is_skipped(item):
                tally.seen += 1
                tally.skipped.add(work.key_of(item))
            else:
                kept.append(item)
        wanted = work.unproved(kept, tally, sample)
        await preflight.look([work.key_of(item) for item in wanted])
        tally.admission = preflight.note(tally.failed_causes.keys())
        await work.work_on(await work.go_ahead(wanted, preflight, tally), tally)
        tally.admission = preflight.note(tally.failed_causes.keys())
