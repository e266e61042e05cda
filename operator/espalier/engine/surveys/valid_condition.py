"""
The condition ``espalier.dev/StoredObjectsValid``, made from a survey.

Paths, names and counts only: no field's value ever stands in a message.
"""

from collections.abc import Iterator

from espalier import names
from espalier.crd import Condition
from espalier.engine.status.path_counts import Counts
from espalier.engine.status.text import bounded, enumerated
from espalier.engine.surveys.report import Survey
from espalier.plurals import counted

VALID, INVALID, INCOMPLETE, NOT_ASKED = "Valid", "Invalid", "Incomplete", "NotAsked"

LEFT_OUT = Condition(
    type=names.STORED_OBJECTS_VALID,
    status="Unknown",
    reason=NOT_ASKED,
    message=f"stored values are not validated: label {names.step_label('validate')}=false",
)


def validity_of(found: Survey, *, within: str = "", note: str = "") -> Condition:
    """
    Make the condition from what was found.

    Args:
        within: The part of the objects that was validated: `` in namespaces a, b``.
        note: A sentence to add.
    """
    gaps = tuple(_gaps(found))
    notes = (*gaps, note) if note else gaps
    schema = f"the schema of version {found.candidate_version} (generation {found.generation})"
    if found.violations.objects or found.normalising.malformed.objects:
        return _condition("False", INVALID, *_faults(found, within, schema), *notes)
    objects = counted(found.objects, "stored object")
    summary = f"none of {objects}{within} is seen to violate {schema}"
    if gaps:
        return _condition("Unknown", INCOMPLETE, summary, *notes)
    return _condition("True", VALID, summary.replace("is seen to violate", "violates"), *notes)


def _faults(found: Survey, within: str, schema: str) -> Iterator[str]:
    invalid, malformed = found.violations, found.normalising.malformed
    if invalid.objects:
        yield (
            f"{counted(invalid.objects, 'object')} of {found.objects}{within} violate {schema}:"
            f" {invalid.describe()}"
        )
    if malformed.objects:
        yield (
            f"the metadata of {counted(malformed.objects, 'object')} is malformed:"
            f" {_named(malformed)}"
        )
    if found.unwritable.objects:
        yield (
            f"{counted(found.unwritable.objects, 'object')} cannot be updated any more until that"
            f" is repaired: {_named(found.unwritable)}"
        )


def _gaps(found: Survey) -> Iterator[str]:
    if found.undecodable:
        yield f"the API server itself cannot read {enumerated(found.undecodable)}"
    if found.not_judged.objects:
        yield from (f"Not judged, since {one}" for one in found.not_judged.paths)
    if found.unchecked.objects:
        yield f"CEL rules were not evaluated in {counted(found.unchecked.objects, 'object')}"


def _named(counts: Counts) -> str:
    return enumerated((str(key) for key in counts.first), total=counts.objects)


def _condition(status: str, reason: str, *sentences: str) -> Condition:
    return Condition(
        type=names.STORED_OBJECTS_VALID,
        status=status,
        reason=reason,
        message=bounded(". ".join(sentences)),
    )
