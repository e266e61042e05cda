"""
What older API servers lack: functions of rules, keywords, formats and the tolerance of old values.

A new rule may use a function from the minor version on that follows the one in which it was
introduced, so that the server can be rolled back. Costs are those of 1.37: they changed between
versions, and no table of that is known.

Source:
    apiserver, ``pkg/cel/environment/base.go``; kube-openapi,
    ``pkg/validation/validate/schema.go``, ``numberValidator``; apiextensions-apiserver,
    ``pkg/apiserver/validation/formats.go`` and ``pkg/features/kube_features.go``; the changelogs
    of Kubernetes for ``messageExpression``, ``reason`` and ``fieldPath``.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from espalier.cel.checker.check import Checked
from espalier.cel.expr import Call, Comprehension, walk
from espalier.cel.library.authz import AUTHORIZATION
from espalier.cel.library.lists import LISTS
from espalier.cel.library.named_formats import FORMATS
from espalier.cel.library.network import CIDRS, IPS
from espalier.cel.library.optionals import INSERTION, OPTIONALS
from espalier.cel.library.quantity import QUANTITIES
from espalier.cel.library.semver import SEMVERS
from espalier.crd.definition import Definition
from espalier.crd.structural import structural_of
from espalier.errors import SchemaParseError
from espalier.findings import FieldError
from espalier.paths import JSON, Key, Path
from espalier.schema import Structural
from espalier.schema.rules.compilation import (
    Expression,
    RuleNode,
    compile_rules,
    compile_validations,
)
from espalier.schema.rules.types import NestingError, declare

_KUBERNETES_LISTS, _SETS = LISTS[1], LISTS[2]
_FUNCTIONS: Final[Mapping[str, int]] = MappingProxyType(
    {
        overload.id: since
        for library, since in (
            (AUTHORIZATION, 28),
            (OPTIONALS, 29),
            (QUANTITIES, 29),
            (_SETS, 30),
            (IPS, 31),
            (CIDRS, 31),
            (FORMATS, 32),
            (INSERTION, 33),
            (SEMVERS, 34),
            (LISTS[0], 35),
        )
        for overloads in library.values()
        for overload in overloads
    }
    | {"string_format": 30, "strings_quote": 30, "list_includes_dyn_dyn": 38}
)
"""The minor version from which a new rule may use an overload; of all others, the oldest one."""

_NUMBERS: Final = "int64|uint64|double"
_ACROSS: Final = re.compile(rf"(?:less|greater)(?:_equals)?_({_NUMBERS})_({_NUMBERS})")
_ACROSS_SINCE, _OPTIONALS_SINCE, _TWO_VARIABLES_SINCE = 29, 29, 33
_OPTIONAL_ACCESS: Final = ("_?._", "_[?_]")
_OPTIONAL_OLD_SELF: Final = "optionalOldSelf"
_KEYWORDS: Final[Mapping[str, int]] = MappingProxyType(
    {"messageExpression": 27, "reason": 28, "fieldPath": 28, _OPTIONAL_OLD_SELF: 30}
)
FORMATS_SINCE: Final[Mapping[str, int]] = MappingProxyType(
    {"k8s-short-name": 35, "k8s-long-name": 35}
)
"""The formats that not all versions know, and the minor version from which they are checked."""

RANGES_SINCE: Final = 36
"""The minor version from which numbers must be in the range of their type and format."""

RANGE_FORMATS: Final = frozenset({"int32", "int64", "float", "double"})
"""The formats of numbers. Nearly every definition has one, so that they are no ``VersionNeed``."""

_SELECTABLE_SINCE: Final = 31


class VersionNeed(NamedTuple):
    """
    A part of a definition that needs a newer server.

    Attributes:
        since: The minor version that it needs.
        is_refused: Whether an older server refuses the definition; otherwise it ignores the part.
    """

    path: Path
    name: str
    since: int
    is_refused: bool

    @property
    def detail(self) -> str:
        """
        The message: what is needed, and what an older server does.
        """
        what = "refuses the definition" if self.is_refused else "ignores it"
        return f"needs 1.{self.since}: `{self.name}`; an older API server {what}"


def needs(definition: Definition, manifest: JSON, minor: int) -> Iterator[VersionNeed]:
    """
    Yield what a definition has that an API server of a minor version lacks.

    Args:
        manifest: The definition as written.
    """
    for index, version in enumerate(definition.versions):
        path: Path = ("spec", "versions", index)
        if minor < _SELECTABLE_SINCE and _has_selectable(manifest, index):
            yield VersionNeed(
                (*path, "selectableFields"), "selectableFields", _SELECTABLE_SINCE, False
            )
        try:
            structural = structural_of(version)
            rules = None if structural is None else compile_rules(structural)
        except (SchemaParseError, NestingError):
            continue
        below = (*path, "schema", "openAPIV3Schema")
        if structural is not None:
            yield from _formats(structural, below, minor)
        if rules is not None:
            yield from _rules(rules, below, minor)


def without_formats(manifest: JSON, minor: int) -> JSON:
    """
    Return a definition without the formats that an API server of a minor version ignores.
    """
    ignored = {name for name, since in FORMATS_SINCE.items() if minor < since}
    if minor < RANGES_SINCE:
        ignored |= RANGE_FORMATS
    return _stripped(manifest, ignored) if ignored else manifest


def without_ranges(errors: Iterable[FieldError], minor: int) -> tuple[FieldError, ...]:
    """
    Return the errors of an object without those that a server of a minor version does not find.
    """
    return tuple(one for one in errors if minor >= RANGES_SINCE or one.origin != "range")


def _stripped(value: JSON, ignored: set[str]) -> JSON:
    match value:
        case list():
            return [_stripped(item, ignored) for item in value]
        case dict():
            return {
                name: member if name in ("default", "enum") else _stripped(member, ignored)
                for name, member in value.items()
                if not (name == "format" and isinstance(member, str) and member in ignored)
            }
        case _:
            return value


def _has_selectable(manifest: JSON, index: int) -> bool:
    match manifest:
        case {"spec": {"versions": list(versions)}} if index < len(versions):
            version = versions[index]
            return isinstance(version, dict) and bool(version.get("selectableFields"))
        case _:
            return False


def _formats(node: Structural, path: Path, minor: int) -> Iterator[VersionNeed]:
    since = FORMATS_SINCE.get(node.value_validation.format, 0)
    if minor < since:
        yield VersionNeed((*path, "format"), node.value_validation.format, since, is_refused=False)
    for name, child in node.properties.items():
        yield from _formats(child, (*path, "properties", Key(name)), minor)
    if node.items is not None:
        yield from _formats(node.items, (*path, "items"), minor)
    if isinstance(node.additional_properties, Structural):
        below = (*path, "additionalProperties")
        yield from _formats(node.additional_properties, below, minor)


def _rules(node: RuleNode, path: Path, minor: int) -> Iterator[VersionNeed]:
    written = [one for one in node.node.validations if isinstance(one, dict)]
    for index, (rule, keywords) in enumerate(zip(node.rules, written, strict=False)):
        below = (*path, "x-kubernetes-validations", index)
        for keyword, since in _KEYWORDS.items():
            if minor < since and keyword in keywords:
                is_refused = keyword == _OPTIONAL_OLD_SELF and not _compiles_without(index, node)
                yield VersionNeed((*below, keyword), keyword, since, is_refused)
        yield from _functions(rule.rule, (*below, "rule"), minor)
        yield from _functions(rule.message_expression, (*below, "messageExpression"), minor)
    for name, child in node.properties.items():
        yield from _rules(child, (*path, "properties", Key(name)), minor)
    if node.items is not None:
        yield from _rules(node.items, (*path, "items"), minor)
    if node.additional is not None:
        yield from _rules(node.additional, (*path, "additionalProperties"), minor)


def _compiles_without(index: int, node: RuleNode) -> bool:
    # The server removes the keyword, and compiles the rule with an old value that is no optional.
    rule = node.node.validations[index]
    declared = declare(node.node, is_resource=node.is_resource)
    if not isinstance(rule, dict) or declared is None:
        return True
    left: JSON = {name: value for name, value in rule.items() if name != _OPTIONAL_OLD_SELF}
    (compiled,) = compile_validations((left,), node.node, declared)
    parts = (compiled.rule, compiled.message_expression)
    return not any(part is not None and part.error for part in parts)


def _functions(expression: Expression | None, path: Path, minor: int) -> Iterator[VersionNeed]:
    if expression is not None and expression.checked is not None:
        for name, since in _used(expression.checked).items():
            if minor < since:
                yield VersionNeed(path, name, since, is_refused=True)


def _used(checked: Checked) -> Mapping[str, int]:
    # The functions of an expression that the oldest version lacks.
    found: dict[str, int] = {}
    for node in walk(checked.root):
        if isinstance(node, Comprehension) and node.variable2:
            found["macro with two variables"] = _TWO_VARIABLES_SINCE
        if isinstance(node, Call) and node.function in _OPTIONAL_ACCESS:
            found[_SHOWN[node.function]] = _OPTIONALS_SINCE
        overloads = checked.overloads.get(node.id, ())
        # Where the types are not known, the oldest overload is enough.
        since = min((_since(overload.id) for overload in overloads), default=0)
        if since:
            name = getattr(node, "function", "")
            found.setdefault(_SHOWN.get(name, name), since)
    return found


_SHOWN: Final[Mapping[str, str]] = MappingProxyType(
    {
        "_?._": ".?",
        "_[?_]": "[?]",
        "@sortByAssociatedKeys": "sortBy",
        "cel.@mapInsert": "transformMap",
        "_<_": "comparison of numbers of different types",
        "_<=_": "comparison of numbers of different types",
        "_>_": "comparison of numbers of different types",
        "_>=_": "comparison of numbers of different types",
    }
)


def _since(overload: str) -> int:
    across = _ACROSS.fullmatch(overload)
    if across is not None:
        return _ACROSS_SINCE if across[1] != across[2] else 0
    return _FUNCTIONS.get(overload, 0)
