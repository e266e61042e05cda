"""
The port to whoever judges CEL rules: what is asked, and what may be answered.

No rule is evaluated here, and nothing here knows CEL. What the server does when an object is too
broken for its rules is here as well.
"""

import enum
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from espalier.findings import ErrorType, FieldError
from espalier.paths import JSON, Path
from espalier.schema.model import Structural
from espalier.schema.ratcheting import NO_TOLERANCE, Tolerance


class RuleOutcome(enum.Enum):
    """
    What became of a rule that did not hold.
    """

    VIOLATED = "violated"
    """The server would refuse the value: the rule is false, or its evaluation fails."""

    FORGIVEN = "forgiven"
    """The rule is false, but an update may leave the value as it was; the server only warns."""

    NOT_CHECKED = "not checked"
    """It is not known whether the rule holds."""


class Ruling(NamedTuple):
    """
    What one rule has against a value.

    Attributes:
        error: In the server's words; of what was not checked, why.
    """

    outcome: RuleOutcome
    error: FieldError


class RuleJudge(Protocol):
    """
    Evaluates the rules of a schema on a value.
    """

    def governs(self, structural: Structural, *, is_resource: bool) -> bool:
        """
        Tell whether there is a rule that could be evaluated, or should have been.

        The server tells of rules that it did not look at only where this is so.
        """
        ...

    def judge(
        self,
        structural: Structural,
        value: JSON,
        *,
        old: JSON = None,
        path: Path = (),
        is_resource: bool = True,
        tolerance: Tolerance = NO_TOLERANCE,
    ) -> Sequence[Ruling]:
        """
        Judge a value and all that is in it.

        Args:
            structural: The schema of the value; its own rules come first, then those below.
            value: Decoded JSON of any shape, pruned, defaulted and free of the errors that keep
                the server from evaluating rules; never changed.
            old: The value that is updated; None, as a null, where there is none.
            path: Where the value stands; it begins the paths of the rulings.
            is_resource: Whether the value is a whole resource, so that ``self`` has
                ``apiVersion``, ``kind`` and ``metadata``.
            tolerance: Of the value itself. It is carried down with ``key``, ``index`` and
                ``within_all_of``, and asked by ``forgives`` about rules without ``oldSelf``.

        Returns:
            The rulings that are not in the value's favour, in the server's order; each call has
            the whole budget of one object.

        Source:
            apiextensions-apiserver, ``pkg/apiserver/schema/cel/validation.go``,
            ``Validator.Validate``.
        """
        ...


def has_rules(structural: Structural) -> bool:
    """
    Tell whether a schema has a rule outside of its junctors.

    Source:
        apiextensions-apiserver, ``pkg/apiserver/schema/cel/validation.go``, ``hasXValidations``.
    """
    waiting = [structural]
    while waiting:
        node = waiting.pop()
        if node.validations:
            return True
        waiting += node.properties.values()
        if node.items is not None:
            waiting.append(node.items)
        if isinstance(node.additional_properties, Structural):
            waiting.append(node.additional_properties)
    return False


class Answer(NamedTuple):
    """
    What the server has to say to a write.

    Attributes:
        errors: The causes of its refusal, in its order; it takes the write if there are none.
        forgiven: Rules that the object breaks, as it did before; the server warns of them.
        unchecked: Rules of which nobody knows whether the object keeps them.
    """

    errors: tuple[FieldError, ...] = ()
    forgiven: tuple[FieldError, ...] = ()
    unchecked: tuple[FieldError, ...] = ()


class _NoJudge:
    """
    Judges rules where nobody can: none is checked.
    """

    def governs(self, structural: Structural, *, is_resource: bool) -> bool:
        del is_resource
        return has_rules(structural)

    def judge(
        self,
        structural: Structural,
        value: JSON,
        *,
        old: JSON = None,
        path: Path = (),
        is_resource: bool = True,
        tolerance: Tolerance = NO_TOLERANCE,
    ) -> Sequence[Ruling]:
        del structural, value, old, is_resource, tolerance
        detail = "validation rules are not evaluated"
        unknown = FieldError(type=ErrorType.INTERNAL, path=path, detail=detail, origin=_RULES)
        return (Ruling(RuleOutcome.NOT_CHECKED, unknown),)


_RULES = "x-kubernetes-validations"
NO_JUDGE: RuleJudge = _NoJudge()
"""Says of all rules that they were not checked."""


_BLOCKING = frozenset(
    {
        ErrorType.NOT_SUPPORTED,
        ErrorType.REQUIRED,
        ErrorType.TOO_LONG,
        ErrorType.TOO_MANY,
        ErrorType.TYPE_INVALID,
    }
)
"""Errors after which the server evaluates no rules."""


def answer_with_rules(
    errors: Sequence[FieldError],
    value: JSON,
    structural: Structural | None,
    rules: RuleJudge,
    tolerance: Tolerance,
    *,
    path: Path = (),
) -> Answer:
    """
    Have rules judged, if the errors found until then let the server do so.

    Args:
        tolerance: Of the value; what it was before stands in there.
        path: Where the value stands.

    Source:
        apiextensions-apiserver, ``pkg/registry/customresource/strategy.go``, ``hasBlockingErr``.
    """
    if structural is None or not rules.governs(structural, is_resource=True):
        return Answer(tuple(errors))
    if any(error.type in _BLOCKING for error in errors):
        detail = (
            "some validation rules were not checked because the object was invalid;"
            " correct the existing errors to complete validation"
        )
        blocked = FieldError(type=ErrorType.INVALID, path=(), detail=detail, origin=_RULES)
        return Answer((*errors, blocked))
    old = None if tolerance.here is None else tolerance.here.old
    rulings = rules.judge(structural, value, old=old, path=path, tolerance=tolerance)
    return Answer(
        (*errors, *_of(rulings, RuleOutcome.VIOLATED)),
        _of(rulings, RuleOutcome.FORGIVEN),
        _of(rulings, RuleOutcome.NOT_CHECKED),
    )


def _of(rulings: Sequence[Ruling], outcome: RuleOutcome) -> tuple[FieldError, ...]:
    return tuple(ruling.error for ruling in rulings if ruling.outcome is outcome)
