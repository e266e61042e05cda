"""
Validate a value against the value validations of a schema, with the API server's findings.

A ``RuleJudge`` argument evaluates the validation rules.
"""

import functools
from collections.abc import Callable, Iterable
from typing import Final

from espalier.findings import FieldError
from espalier.paths import JSON, Path
from espalier.schema.metadata.validation import check_embedded
from espalier.schema.model import Structural
from espalier.schema.profile import Profile
from espalier.schema.ratcheting import TYPE_FIELDS, Correlation, Tolerance
from espalier.schema.rules.judge import CelJudge
from espalier.schema.rules.port import Answer, RuleJudge, answer_with_rules
from espalier.schema.validation.dispatch import plans_of
from espalier.schema.validation.formats import format_of
from espalier.schema.validation.keywords import CHECKS_OF_NULL, JUNCTOR_TEXTS
from espalier.schema.validation.list_types import new_list_errors
from espalier.schema.validation.violations import At, ValueViolations, Violation, name_of

RULES: Final[RuleJudge] = CelJudge()
"""Evaluate rules within the server's cost budget; a ``CelJudge`` with a clock also limits time."""


def validate(
    value: JSON,
    structural: Structural | None,
    *,
    profile: Profile,
    path: Path = (),
    root: str = "",
) -> tuple[FieldError, ...]:
    """
    Return the errors of a value, without evaluating rules and without an old value.

    Args:
        value: Decoded JSON of any shape, pruned and defaulted before; never changed.
        structural: None if there is no schema: then every value is valid.
        profile: ``APISERVER`` also checks embedded resources and list types. With ``KEP`` the
            details are the proposals' messages.
        path: The path of the value, a prefix of the paths of all findings.
        root: The name of the value in the proposals' messages: ``data.foo in body is required``.

    Returns:
        The findings of keywords, then those of embedded resources, then those of list types. Where
        the server's order is that of a map, it is the order of the schema.

    Source:
        apiextensions-apiserver, ``pkg/apiserver/validation/validation.go``; kube-openapi,
        ``pkg/validation/validate``; KEP-2337 (validation), "Error messages".
    """
    if structural is None:
        return ()
    if profile is Profile.APISERVER:
        return _errors(value, structural, None, path)
    found = _ValidationWalk(structural, root).node(value, structural, ()).violations.values()
    return tuple(
        _as_proposed(violation, (*path, *((root,) if root else ()))) for violation in found
    )


def check_value(
    value: JSON,
    structural: Structural | None,
    *,
    old: JSON = None,
    path: Path = (),
    rules: RuleJudge = RULES,
) -> Answer:
    """
    Return the errors of a value, its rules included, and with ratcheting if there is an old value.

    Args:
        value: As for ``validate``; a whole object, whose own metadata is not checked.
        old: The old value: where the new value is equal to it, errors are tolerated. None if there
            is no old value.
        rules: Evaluates the validation rules of the schema; ``NO_JUDGE`` leaves them unchecked.

    Source:
        apiextensions-apiserver, ``pkg/registry/customresource/strategy.go``.
    """
    if structural is None:
        return Answer()
    before = None if old is None else Correlation(value, old, structural)
    errors = _errors(value, structural, before, path)
    return answer_with_rules(errors, value, structural, rules, Tolerance(before), path=path)


def _errors(
    value: JSON, structural: Structural, before: Correlation | None, path: Path
) -> tuple[FieldError, ...]:
    old = None if before is None else before.old
    return (
        *check_keywords(value, structural, path=path, before=before),
        *distinct(check_embedded(value, structural, path=path)),
        *new_list_errors(value, old, structural, path=path),
    )


def check_keywords(
    value: JSON,
    structural: Structural,
    *,
    path: Path = (),
    before: Correlation | None = None,
    format_of: Callable[[Structural], str] = format_of,
) -> tuple[FieldError, ...]:
    """
    Return the violations of a schema's keywords, with the server's messages.

    Args:
        path: The path of the value, a prefix of the paths of all findings.
        before: The correlation with the old value, whose errors are tolerated.
        format_of: Return the format that is checked at a node.

    Source:
        apiextensions-apiserver, ``pkg/apiserver/validation/validation.go``,
        ``ValidateCustomResource``, and ``ratcheting.go``.
    """
    walk = _ValidationWalk(structural, format_of=format_of)
    found = walk.node(value, structural, (), before).violations
    return tuple(_as_field_error(violation, path) for violation in found.values())


def distinct(findings: Iterable[FieldError]) -> tuple[FieldError, ...]:
    """
    Remove findings with the same text as an earlier one, as the server does for metadata.
    """
    return tuple({str(one): one for one in findings}.values())


def render_validation(finding: FieldError, *, profile: Profile) -> str:
    """
    Write the message of a finding of ``validate`` in the form of the profile.
    """
    return finding.detail if profile is Profile.KEP else str(finding)


class _ValidationWalk:
    """
    Walk a value; holds the settings that all of its nodes share.
    """

    def __init__(
        self,
        structural: Structural,
        root: str = "",
        format_of: Callable[[Structural], str] = format_of,
    ) -> None:
        self._root = root
        self._format_of = format_of
        self._plans = plans_of(structural, format_of)

    def node(
        self, value: JSON, node: Structural, path: Path, before: Correlation | None = None
    ) -> ValueViolations:
        result = ValueViolations()
        checks = CHECKS_OF_NULL
        if value is not None:
            result.matches, checks = self._plans.of(node, value.__class__)
        if not checks:
            return result
        # Members of junctors are validated without old values.
        member = self.node if before is None else functools.partial(self._member, before)
        at = At(path, self._root, self.node, member, self._format_of)
        for check in checks:
            check(value, node, at, result)
        if result.violations and before is not None and before.is_unchanged():
            result.violations.clear()
        return result

    def _member(
        self, around: Correlation, value: JSON, node: Structural, path: Path
    ) -> ValueViolations:
        step = path[-1]
        if isinstance(step, int):
            return self.node(value, node, path, around.index(step))
        # The server goes by the field path, in which empty names leave no trace.
        is_own = step in TYPE_FIELDS and all(part == "" for part in path[:-1])
        return self.node(value, node, path, None if is_own else around.key(step))


def _as_field_error(violation: Violation, base: Path) -> FieldError:
    return FieldError(
        type=violation.type,
        path=base if violation.path is None else _joined(base, violation.path),
        value=violation.value,
        detail=violation.text if violation.detail is None else violation.detail,
        origin=violation.keyword,
    )


def _joined(base: Path, path: Path) -> Path:
    if "" in path:
        # The server knows the value's name only, and empty names do not show in it as steps.
        name = name_of(path).removeprefix(".")
        return (*base, name) if name else base
    # The server joins the name of an item to the path like the name of a field.
    if base and path and isinstance(path[0], int):
        return (*base, f"[{path[0]}]", *path[1:])
    return (*base, *path)


def _as_proposed(violation: Violation, base: Path) -> FieldError:
    return FieldError(
        type=violation.type,
        path=(*base, *(violation.path or ())),
        value=violation.value,
        detail=JUNCTOR_TEXTS.get(violation.keyword, violation.text),
        origin=violation.keyword,
    )
