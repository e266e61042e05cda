"""
Check that defaults satisfy the value validations and the rules of their nodes.

The API server's check of defaults differs from that of objects: it accepts any type for an
int-or-string, checks every format, and ignores ``additionalProperties`` of junctors.
"""

from collections.abc import Iterable
from dataclasses import replace

from msgspec import structs

from espalier.findings import FieldError
from espalier.paths import JSON, Path
from espalier.schema.model import Structural, ValueValidation
from espalier.schema.profile import Profile
from espalier.schema.rules.port import RuleJudge, RuleOutcome
from espalier.schema.validation.defaults import DefaultCheck
from espalier.schema.validation.walk import RULES, check_keywords, validate


def default_judge(*, profile: Profile, rules: RuleJudge = RULES) -> DefaultCheck:
    """
    Make the check for the values of defaults.

    Args:
        rules: Evaluates the rules of a node on its default, in the profile ``APISERVER``. Rules
            that cannot be evaluated count as satisfied.

    Source:
        apiextensions-apiserver, ``pkg/apiserver/schema/defaulting/validation.go``, ``validate``,
        and ``pkg/apiserver/schema/kubeopenapi.go``, ``ToKubeOpenAPI``.
    """

    def judge_as_proposed(value: JSON, structural: Structural, path: Path) -> Iterable[FieldError]:
        found = validate(value, structural, profile=Profile.KEP, path=path, root="default")
        return (replace(one, path=path) for one in found)

    def judge(value: JSON, structural: Structural, path: Path) -> Iterable[FieldError]:
        found = check_keywords(
            value, _as_checked(structural), path=path, format_of=_format_as_written
        )
        return found or _broken_rules(value, structural, path, rules)

    return judge_as_proposed if profile is Profile.KEP else judge


def _broken_rules(
    value: JSON, structural: Structural, path: Path, rules: RuleJudge
) -> tuple[FieldError, ...]:
    is_resource = structural.embedded_resource
    if not rules.governs(structural, is_resource=is_resource):
        return ()
    # A default applies to new objects, and to objects that had it before.
    for old in (value, None):
        rulings = rules.judge(structural, value, old=old, path=path, is_resource=is_resource)
        broken = tuple(ruling.error for ruling in rulings if ruling.outcome is RuleOutcome.VIOLATED)
        if broken:
            return broken
    return ()


def _format_as_written(node: Structural) -> str:
    return node.value_validation.format


def _as_checked(node: Structural, *, in_junctor: bool = False) -> Structural:
    additional = None if in_junctor else node.additional_properties
    if isinstance(additional, Structural):
        additional = _as_checked(additional)
    return structs.replace(
        node,
        int_or_string=False,
        items=None if node.items is None else _as_checked(node.items, in_junctor=in_junctor),
        properties={
            name: _as_checked(child, in_junctor=in_junctor)
            for name, child in node.properties.items()
        },
        additional_properties=additional,
        value_validation=_junctors_as_checked(node.value_validation),
    )


def _junctors_as_checked(validation: ValueValidation) -> ValueValidation:
    negated = validation.not_
    return structs.replace(
        validation,
        all_of=tuple(_as_checked(member, in_junctor=True) for member in validation.all_of),
        any_of=tuple(_as_checked(member, in_junctor=True) for member in validation.any_of),
        one_of=tuple(_as_checked(member, in_junctor=True) for member in validation.one_of),
        not_=None if negated is None else _as_checked(negated, in_junctor=True),
    )
