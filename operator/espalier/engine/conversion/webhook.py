"""
Conversion by webhook: whether it answers, and what it seems to lose.

A write while the webhook is away can cost an object its managedFields, so it is asked before each
page: by a read of one of its objects in each served version. A refusal concerns its object alone,
as long as others are converted; see ``espalier.engine.listing.conversions``.
"""

from collections.abc import Sequence

from espalier.crd import Definition
from espalier.engine.conversion.comparison import ConversionLoss
from espalier.engine.conversion.versions import VersionsReader
from espalier.engine.listing.conversions import NOT_SHOWN, ConversionProbe, as_unavailable
from espalier.engine.listing.pages import pages
from espalier.engine.listing.undecodable import UndecodableSkipper
from espalier.engine.policy.field_managers import entries_at
from espalier.engine.policy.plan import Plan
from espalier.engine.ports import Endpoint, ObjectKey, StoredMetadata
from espalier.engine.ports.objects import Objects
from espalier.engine.settings import Ports
from espalier.engine.status.text import enumerated
from espalier.errors import ConversionRefusedError, NotFoundError, RejectedError
from espalier.paths import JSON
from espalier.plurals import counted

MAX_ASKED = 10
"""How many objects of a page are asked for, until one is converted."""


def converts_by_webhook(definition: Definition) -> bool:
    """
    Report whether versions may differ by more than their names.
    """
    return definition.conversion != "None"


async def ask_webhook(
    objects: Objects, probe: ConversionProbe, keys: Sequence[ObjectKey]
) -> dict[str, JSON] | None:
    """
    Read some objects in each served version, until one is converted.

    What a version refuses to show is left to whatever writes such an object: see the gate.

    Returns:
        An object at the storage version; None if none could be read.
    """
    seen = None
    for key in keys[:MAX_ASKED]:
        shown = []
        for resource in probe.resources:
            try:
                shown.append(await objects.get_object(resource, key))
            except NotFoundError as error:
                if error.is_object:
                    break
                # Not every server serves that version yet, or any more.
            except NOT_SHOWN:
                probe.note_refused(resource)
            except RejectedError:
                break
        seen = shown[0] if seen is None and shown else seen
        if len(shown) >= min(len(probe.resources), 2):
            probe.note_converted(key)
            break
    return seen


async def check_shown(probe: ConversionProbe, objects: Objects, seen: StoredMetadata) -> None:
    """
    Check before a write that an object can be shown at the versions that its managedFields name.

    A server that cannot convert an object to one of them removes all of its managedFields. Versions
    at which no object was refused are not looked at.

    Raises:
        ConversionRefusedError: It cannot be shown at one of them.
        ConversionError: The webhook converts nothing.
    """
    for resource in probe.resources:
        if resource.version not in probe.refused_at or not entries_at(
            seen.managed_fields, resource.api_version
        ):
            continue
        await read_shown(probe, objects, resource, seen.key)


async def read_shown(
    probe: ConversionProbe, objects: Objects, resource: Endpoint, key: ObjectKey
) -> dict[str, JSON]:
    """
    Read an object at a version that its managedFields name.

    Raises:
        ConversionRefusedError: It cannot be shown there.
        ConversionError: The webhook converts nothing.
        ClusterError: It cannot be read.
    """
    try:
        return await objects.get_object(resource, key)
    except NOT_SHOWN as error:
        probe.note_refused(resource)
        if not await probe.is_about_one(error, str(key)):
            raise as_unavailable(error) from error
        raise ConversionRefusedError(
            verb="get",
            resource=f"{resource} {key}",
            status=error.status,
            reason=error.reason,
            detail=f"its managedFields name version {resource.version}, to which the conversion"
            " webhook does not convert it: a write would remove all of them",
        ) from error


async def compare_versions(
    planned: Plan, ports: Ports, probe: ConversionProbe, *, page_size: int
) -> str:
    """
    Read all objects at each stored version that is served, and report what only older ones show.

    Returns:
        A sentence; empty if the versions show the same.
    """
    objects, workers = ports.objects, ports.workers
    reader = VersionsReader(planned.definition, objects, page_size, workers=workers)
    if not reader.comparisons:
        return ""
    skipper = UndecodableSkipper(objects, planned.definition, probe)
    for namespace in planned.policy.namespaces or ("",):
        async for page, _ in pages(reader.listing(namespace), ports.clock, skipper=skipper):
            await reader.compare(page)
    sentences = [_loss_message(comparison.loss()) for comparison in reader.comparisons]
    uncompared = dict.fromkeys((*skipper.names, *reader.uncompared))
    if uncompared:
        sentences.append(
            f"What older versions show could not be compared for {enumerated(uncompared)}"
        )
    probe.refused_at.update(reader.refused_at)
    return ". ".join(sentence for sentence in sentences if sentence)


def _loss_message(loss: ConversionLoss) -> str:
    if not loss.lost.objects:
        return ""
    return (
        f"Before the rewrite version {loss.version} showed what the storage version did not (fields"
        f" that the webhook renames look so) in {counted(loss.lost.objects, 'object')}:"
        f" {loss.lost.describe()}"
    )
