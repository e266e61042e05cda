"""
Conversion by webhook: whether it answers, and what it seems to lose.

A write while the webhook is away can cost an object its managedFields, so it is asked before each
page: by a read of one of its objects in each served version.
"""

from collections.abc import Iterable

from espalier.crd import Definition
from espalier.engine.conversion.comparison import ConversionLoss
from espalier.engine.conversion.versions import VersionsReader
from espalier.engine.listing.pages import MAX_REFUSED_AT_FIRST, as_unavailable, pages
from espalier.engine.listing.undecodable import UndecodableSkipper
from espalier.engine.policy.plan import Plan
from espalier.engine.ports import ObjectKey
from espalier.engine.ports.clock import Clock
from espalier.engine.ports.objects import Objects
from espalier.engine.ports.records import resource_of
from espalier.engine.status.text import enumerated
from espalier.errors import ConversionRefusedError, NotFoundError, RejectedError, UndecodableError
from espalier.paths import JSON
from espalier.plurals import counted


def converts_by_webhook(definition: Definition) -> bool:
    """
    Report whether versions may differ by more than their names.
    """
    return definition.conversion != "None"


async def ask_webhook(
    definition: Definition, objects: Objects, keys: Iterable[ObjectKey]
) -> dict[str, JSON] | None:
    """
    Read an object in each served version: the first one that is there, and can be read.

    Returns:
        The object at the storage version; None if none could be read.

    Raises:
        ConversionError: The webhook does not answer as it must, or refuses all it is asked about.
    """
    refused = 0
    for key in keys:
        try:
            return await _read_in_each_version(definition, objects, key)
        except ConversionRefusedError as error:
            refused += 1
            if refused >= MAX_REFUSED_AT_FIRST:
                raise as_unavailable(error) from error
        except (NotFoundError, RejectedError, UndecodableError):
            continue
    return None


async def _read_in_each_version(
    definition: Definition, objects: Objects, key: ObjectKey
) -> dict[str, JSON] | None:
    shown = None
    for version in definition.versions:
        if not version.served:
            continue
        try:
            obj = await objects.get_object(resource_of(definition, version), key)
        except NotFoundError as error:
            if error.is_object:
                raise
            # Not every server serves that version yet, or any more.
            continue
        if version.storage:
            shown = obj
    return shown


async def compare_versions(planned: Plan, objects: Objects, clock: Clock, *, page_size: int) -> str:
    """
    Read all objects at each stored version that is served, and report what only older ones show.

    Returns:
        A sentence; empty if the versions show the same.
    """
    reader = VersionsReader(planned.definition, objects, page_size)
    if not reader.comparisons:
        return ""
    skipper = UndecodableSkipper(objects, planned.definition)
    for namespace in planned.policy.namespaces or ("",):
        async for page, _ in pages(reader.listing(namespace), clock, skipper=skipper):
            await reader.compare(page)
    sentences = [_loss_message(comparison.loss()) for comparison in reader.comparisons]
    if skipper.names:
        sentences.append(
            f"What older versions show could not be compared for {enumerated(skipper.names)}"
        )
    return ". ".join(sentence for sentence in sentences if sentence)


def _loss_message(loss: ConversionLoss) -> str:
    if not loss.lost.objects:
        return ""
    return (
        f"Before the rewrite version {loss.version} showed what the storage version did not (fields"
        f" that the webhook renames look so) in {counted(loss.lost.objects, 'object')}:"
        f" {loss.lost.describe()}"
    )
