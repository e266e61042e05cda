"""
What ``espalier.dev/StoredObjectsValid`` says.

Paths, names and counts only: no field's value ever stands in a message.
"""

from espalier.crd import Condition
from espalier.engine.conditions import (
    STORED_OBJECTS_VALID,
    bounded,
    counted,
    enumerated,
)
from espalier.engine.counting import Counts
from espalier.engine.policies import PREFIX
from espalier.engine.surveying import Survey

VALID, INVALID, NOT_ASKED = "Valid", "Invalid", "NotAsked"

LEFT_OUT = Condition(
    type=STORED_OBJECTS_VALID,
    status="Unknown",
    reason=NOT_ASKED,
    message=f"stored values are not validated: label {PREFIX}validate=false",
)


def validity_of(found: Survey, *, within: str = "", note: str = "") -> Condition:
    """
    Make the condition from what was found.

    Args:
        within: Says of which objects only this is told: `` in namespaces a, b``.
        note: A sentence to add.
    """
    what = f"the schema of version {found.candidate_version} (generation {found.generation})"
    invalid, undecodable = found.violations, found.normalising.malformed
    if not invalid.objects and not undecodable.objects:
        return _condition(
            "True",
            VALID,
            f"none of {counted(found.objects, 'stored object')}{within} violates {what}",
        )
    sentences = []
    if invalid.objects:
        sentences.append(
            f"{counted(invalid.objects, 'object')} of {found.objects}{within} violate {what}:"
            f" {invalid.describe()}"
        )
    if undecodable.objects:
        sentences.append(
            f"the metadata of {counted(undecodable.objects, 'object')} is malformed:"
            f" {_named(undecodable)}"
        )
    if found.unwritable.objects:
        sentences.append(
            f"{counted(found.unwritable.objects, 'object')} cannot be updated any more until that"
            f" is mended: {_named(found.unwritable)}"
        )
    if note:
        sentences.append(note)
    return _condition("False", INVALID, ". ".join(sentences))


def _named(counts: Counts) -> str:
    return enumerated((str(key) for key in counts.first), total=counts.objects)


def _condition(status: str, reason: str, message: str) -> Condition:
    return Condition(
        type=STORED_OBJECTS_VALID, status=status, reason=reason, message=bounded(message)
    )
