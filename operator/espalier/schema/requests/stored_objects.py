"""
Judge a stored object: it is valid, invalid but writable unchanged, or blocked.

API servers tolerate most old errors in an update, but not all. Errors of the root, of nodes with
unknown fields, of metadata and of embedded resources are reported again by every update, even by
one that changes nothing. So the check is made with an update that changes nothing: if that is
refused, every other update that keeps the errors is refused, too.
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
    Whether a stored object is valid, and whether it can be updated.
    """

    VALID = "valid"
    """It has no errors."""

    WRITABLE = "invalid, still writable unchanged"
    """It would be refused as a new object, but can be updated while its errors stay."""

    BLOCKED = "invalid, and blocked"
    """It cannot be updated before its errors are corrected."""

    NOT_CHECKED = "not checked"
    """No errors were found, but some rules could not be evaluated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObjectVerdict:
    """
    The standing of a stored object, and the errors behind it.

    Attributes:
        errors: The errors of a creation of the object with its status.
        refusals: The errors of an update that changes nothing; the server validates such an update,
            although it writes nothing.
        status_refusals: The errors of such an update through the ``status`` subresource; empty if
            that is off.
        unchecked: The rules that could not be evaluated.
    """

    errors: tuple[FieldError, ...] = ()
    refusals: tuple[FieldError, ...] = ()
    status_refusals: tuple[FieldError, ...] = ()
    unchecked: tuple[FieldError, ...] = ()

    @property
    def standing(self) -> Standing:
        """
        The worst standing that the errors imply.
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
    Judge a stored object.

    Args:
        obj: In normal form, as the server gives it; never changed. One that was not read from a
            server may lack a resource version.
    """
    created = check_creation(obj, resource, rules=rules)
    stored = _with_resource_version(obj)
    answers = [created, check_update(stored, stored, resource, rules=rules)]
    if resource.has_status:
        answers.append(check_status_update(stored, stored, resource, rules=rules))
    # Updates report errors of metadata twice.
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
