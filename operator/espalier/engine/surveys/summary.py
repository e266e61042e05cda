"""
A survey in sentences, for a condition: counts, paths and names, no values.
"""

from collections.abc import Iterator

from espalier.crd import Definition
from espalier.engine.conversion.comparison import ConversionLoss
from espalier.engine.policy.loss_message import describe_loss
from espalier.engine.status.path_counts import Counts
from espalier.engine.status.text import enumerated
from espalier.engine.surveys.report import Survey
from espalier.plurals import counted


def describe(found: Survey, definition: Definition) -> str:
    """
    Describe what is stored, what enforcing would do to it, and what would be lost.
    """
    return ". ".join(_sentences(found, definition))


def _sentences(found: Survey, definition: Definition) -> Iterator[str]:
    yield f"{counted(found.objects, 'stored object')}, read at version {found.version}"
    if found.undecodable:
        yield (
            f"the API server cannot read {counted(len(found.undecodable), 'further object')}:"
            f" {enumerated(found.undecodable)}"
        )
    yield from (f"Not judged, since {one}" for one in found.not_judged.paths)
    yield from _changes(found)
    for loss in found.conversions:
        yield from _losses(loss, definition)
    if found.unread_versions:
        yield (
            f"What is stored at {enumerated(found.unread_versions)} cannot be seen,"
            " since it is not served"
        )
    lost = found.would_lose
    if lost is not None and lost.objects:
        named = enumerated(
            (f"{describe_loss(one.path)} ({counted(one.objects, 'object')})" for one in lost.paths),
            total=len(lost.paths),
        )
        first = enumerated(map(str, lost.first), total=lost.objects)
        yield (
            f"Enforcing would stop with WouldLoseData, and leave {counted(lost.objects, 'object')}"
            f" alone, since a rewrite would or might remove: {named}. They are: {first}"
        )
    others = [name for name in definition.stored_versions if name != definition.storage.name]
    if others:
        yield (
            f"Enforcing would trim storedVersions ({', '.join(definition.stored_versions)})"
            f" to {definition.storage.name}"
        )


def _changes(found: Survey) -> Iterator[str]:
    normalising = found.normalising
    counted_as: tuple[tuple[Counts, str], ...]
    if found.is_legacy:
        counted_as = (
            (normalising.pruned, "Enforcing would remove unknown fields from"),
            (normalising.mistyped, "Values of the wrong type, which would stay, are in"),
            (normalising.emptied, "Enforcing would stop, since it would empty parts of"),
            (normalising.removed, "With preserveUnknownFields: false the server would prune"),
        )
    else:
        counted_as = (
            (normalising.removed, "A rewrite would remove unknown fields from"),
            (normalising.dropped, "A rewrite would drop nulls from"),
            (normalising.filled, "A rewrite would fill in defaults in"),
        )
    for counts, what in counted_as:
        if counts.objects:
            yield _counts_message(what, counts)


def _losses(loss: ConversionLoss, definition: Definition) -> Iterator[str]:
    if loss.lost.objects:
        renamed = " (what the webhook renames looks the same)" * (definition.conversion != "None")
        yield _counts_message(
            f"Version {loss.version} shows what the storage version does not{renamed}, in",
            loss.lost,
        )
    if loss.unsettled.objects:
        named = enumerated(map(str, loss.unsettled.first), total=loss.unsettled.objects)
        yield (
            f"{counted(loss.unsettled.objects, 'object')} could not be compared at version"
            f" {loss.version}, being written all the time: {named}"
        )


def _counts_message(what: str, counts: Counts) -> str:
    return f"{what} {counted(counts.objects, 'object')}: {counts.describe()}"
