"""
The interface for evaluating CEL rules, and its results.

This module does not know CEL. It also decides when the server evaluates no rules because an object
has other errors.
"""

import enum
import functools
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from espalier.findings import ErrorType, FieldError
from espalier.paths import JSON, Path
from espalier.schema.model import Structural
from espalier.schema.ratcheting import NO_TOLERANCE, Tolerance


class RuleOutcome(enum.Enum):
    """
    The result of a rule that is not satisfied.
    """

    VIOLATED = "violated"
    """The server would refuse the value: the rule is false, or its evaluation fails."""

    FORGIVEN = "forgiven"
    """The rule is false, but an update may keep the old value; the server only warns."""

    NOT_CHECKED = "not checked"
    """It is not known whether the rule is satisfied."""


class Ruling(NamedTuple):
    """
    The result of one rule that a value does not satisfy.

    Attributes:
        error: The server's field error; for a rule that was not checked, the reason.
    """

    outcome: RuleOutcome
    error: FieldError


class RuleJudge(Protocol):
    """
    Evaluate the rules of a schema on a value.
    """

    def governs(self, structural: Structural, *, is_resource: bool) -> bool:
        """
        Report whether there is a rule to evaluate.

        Only then the server reports rules that it did not check.
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
        Evaluate the rules of a value and of everything in it.

        Args:
            structural: The schema of the value; its own rules are evaluated first, then those
                below.
            value: Decoded JSON of any shape; never changed. It is pruned and defaulted, and has
                none of the errors after which the server evaluates no rules.
            old: The old value; None, like a null, if there is none.
            path: The path of the value, a prefix of the paths of all rulings.
            is_resource: Whether the value is a whole resource, so that ``self`` has
                ``apiVersion``, ``kind`` and ``metadata``.
            tolerance: The tolerance of the value itself. ``key``, ``index`` and ``within_all_of``
                return that of its members; ``forgives`` applies to rules without ``oldSelf``.

        Returns:
            The rulings on rules that are not satisfied, in the server's order. Each call has the
            whole cost budget of one object.

        Source:
            apiextensions-apiserver, ``pkg/apiserver/schema/cel/validation.go``,
            ``Validator.Validate``.
        """
        ...


@functools.lru_cache(maxsize=1024)
def has_rules(structural: Structural) -> bool:
    """
    Report whether a schema has a rule outside of its junctors.

    Source:
        apiextensions-apiserver, ``pkg/apiserver/schema/cel/validation.go``, ``hasXValidations``.
    """
    return any(node.validations for node in structural.nodes())


class Answer(NamedTuple):
    """
    The answer of an API server to a write.

    Attributes:
        errors: The causes of the refusal, in the server's order; it accepts the write if there are
            none.
        forgiven: Violated rules that the update tolerates, since they were violated before; the
            server warns about them.
        unchecked: Rules that were not evaluated.
    """

    errors: tuple[FieldError, ...] = ()
    forgiven: tuple[FieldError, ...] = ()
    unchecked: tuple[FieldError, ...] = ()


class _NoJudge:
    """
    A judge that evaluates no rules.
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
"""A judge that evaluates no rules, and reports them as not checked."""


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
    Evaluate the rules, unless the errors found so far keep the server from doing so.

    Args:
        tolerance: The tolerance of the value, which has its old value.
        path: The path of the value.

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
