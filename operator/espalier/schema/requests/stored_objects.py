"""
How does a stored object stand: is it valid, may it be written as it is, or is it stuck?

API servers forgive an update what was wrong before, but not everywhere. Errors of the root, of
nodes with unknown fields, of metadata and of embedded resources come back with every update, even
with one that changes nothing. So the mildest write is asked about: one of the object as it is. What
that is refused, every other write that leaves the errors is refused, too.
"""

import enum
from dataclasses import dataclass

from espalier.findings import FieldError
from espalier.schema.requests.writes import (
    Object,
    Resource,
    check_creation,
    check_status_update,
    check_update,
)
from espalier.schema.rules.port import Answer, RuleJudge
from espalier.schema.validation.walk import RULES, distinct


class Standing(enum.Enum):
    """
    What may become of a stored object.
    """

    VALID = "valid"
    """Nothing is wrong with it."""

    WRITABLE = "invalid, still writable unchanged"
    """It would be refused as a new object, but may be updated while what is wrong stays."""

    BLOCKED = "invalid, and blocked"
    """It cannot be updated before it is mended."""

    NOT_CHECKED = "not checked"
    """Nothing wrong was found, but there are rules that could not be evaluated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObjectVerdict:
    """
    How a stored object stands, and why.

    Attributes:
        errors: What is wrong with it, as if it were created with its status.
        refusals: Why an update that changes nothing is refused; for such an update is validated,
            although nothing would be written.
        status_refusals: The same for an update of its status alone; empty without that
            subresource.
        unchecked: Rules of which nobody knows whether it keeps them.
    """

    errors: tuple[FieldError, ...] = ()
    refusals: tuple[FieldError, ...] = ()
    status_refusals: tuple[FieldError, ...] = ()
    unchecked: tuple[FieldError, ...] = ()

    @property
    def standing(self) -> Standing:
        """
        The worst that is known.
        """
        if self.refusals or self.status_refusals:
            return Standing.BLOCKED
        if self.errors:
            return Standing.WRITABLE
        return Standing.NOT_CHECKED if self.unchecked else Standing.VALID


def judge_stored(
    obj: Object, resource: Resource, *, rules: RuleJudge = RULES
) -> StoredObjectVerdict:
    """
    Find how a stored object stands.

    Args:
        obj: In normal form, as the server gives it; never changed. One that was not read from a
            server may lack a resource version.
    """
    created = check_creation(obj, resource, rules=rules)
    stored = _with_resource_version(obj)
    answers = [created, check_update(stored, stored, resource, rules=rules)]
    if resource.has_status:
        answers.append(check_status_update(stored, stored, resource, rules=rules))
    # Updates say twice what is wrong with metadata.
    refusals, *status_refusals = (distinct(answer.errors) for answer in answers[1:])
    return StoredObjectVerdict(
        errors=created.errors,
        refusals=refusals,
        status_refusals=status_refusals[0] if status_refusals else (),
        unchecked=_unchecked(answers),
    )


def _unchecked(answers: list[Answer]) -> tuple[FieldError, ...]:
    return distinct(one for answer in answers for one in answer.unchecked)


def _with_resource_version(obj: Object) -> Object:
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        return obj
    return {**obj, "metadata": {"resourceVersion": "1", **metadata}}
