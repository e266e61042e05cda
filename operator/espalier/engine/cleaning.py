"""
Takes entries out of managedFields whose version is gone, once nothing is stored at it any more.

The API server cannot read such an entry, and drops it with some later write; until then it stands
in the way of server-side apply. Best effort: what was written meanwhile, or is refused, is left.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from espalier.crd import Definition
from espalier.engine.listing import MetadataListing
from espalier.engine.narrowing import Skipper
from espalier.engine.owners import names_owner
from espalier.engine.pacing import Pacer, work_through
from espalier.engine.paging import pages
from espalier.engine.planning import Plan
from espalier.engine.ports import StoredMetadata
from espalier.engine.settings import Ports, RunSettings, pacer_of
from espalier.errors import ClusterError, ConflictError, NotFoundError, TransientError
from espalier.paths import JSON

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Cleaned:
    """
    How many objects were cleaned, and how many could not be.
    """

    objects: int = 0
    refused: int = 0


async def clean_histories(
    planned: Plan,
    ports: Ports,
    settings: RunSettings,
    *,
    check: Callable[[], Awaitable[object]],
) -> Cleaned:
    """
    Clean all objects of a definition whose objects are proved to be current.

    Args:
        check: Raises if the definition is not the same any more.

    Raises:
        ClusterError: They cannot be listed.
    """
    if planned.policy.keeps_managed_fields:
        return Cleaned()
    pacer = pacer_of(settings, ports.clock)
    cleaner = _Cleaner(planned, ports, pacer)
    listing = MetadataListing(
        objects=ports.objects, resource=planned.resource, page_size=settings.page_size
    )
    async for page, _ in pages(listing, ports.clock, skipper=Skipper(ports.objects)):
        await check()
        await work_through(page.objects, cleaner.clean, workers=pacer.max_in_flight)
    cleaned = cleaner.cleaned
    if cleaned.objects or cleaned.refused:
        logger.info(
            "Cleaned managedFields of versions that are gone.",
            extra={
                "crd": planned.definition.name,
                "objects": cleaned.objects,
                "refused": cleaned.refused,
            },
        )
    return cleaned


class _Cleaner:
    def __init__(self, planned: Plan, ports: Ports, pacer: Pacer) -> None:
        self._planned = planned
        self._objects = ports.objects
        self._pacer = pacer
        self.cleaned = Cleaned()

    async def clean(self, metadata: StoredMetadata) -> None:
        left = living_entries(self._planned.definition, metadata.managed_fields)
        if len(left) == len(metadata.managed_fields) or not metadata.uid:
            return
        if self._planned.policy.skips_owned and names_owner(metadata.managed_fields):
            return
        try:
            async with self._pacer.turn():
                await self._objects.replace_managed_fields(
                    self._planned.resource,
                    metadata.key,
                    uid=metadata.uid,
                    resource_version=metadata.resource_version,
                    managed_fields=left,
                )
        except (ConflictError, NotFoundError):
            return
        except ClusterError as error:
            if isinstance(error, TransientError):
                self._pacer.struggled(error)
            self.cleaned.refused += 1
            logger.info(
                "Could not clean managedFields.",
                extra={"crd": self._planned.definition.name, "error": str(error)},
            )
        else:
            self._pacer.succeeded(written=True)
            self.cleaned.objects += 1


def living_entries(definition: Definition, managed_fields: tuple[JSON, ...]) -> tuple[JSON, ...]:
    """
    Leave out the entries of this group whose version is served no more.
    """
    served = {f"{definition.group}/{one.name}" for one in definition.versions if one.served}
    return tuple(
        entry
        for entry in managed_fields
        if not _is_of(entry, definition.group) or _api_version(entry) in served
    )


def _is_of(entry: JSON, group: str) -> bool:
    return _api_version(entry).startswith(f"{group}/")


def _api_version(entry: JSON) -> str:
    return str(entry.get("apiVersion", "")) if isinstance(entry, dict) else ""
