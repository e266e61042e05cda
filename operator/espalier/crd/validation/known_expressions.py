"""
The expressions of a definition's validation rules, as texts.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from espalier.crd.internal.json_schema_props import Keywords, nodes, text
from espalier.paths import JSON


class Known(Struct, frozen=True):
    """
    The expressions of the old definition: they may use functions that are too new for others.
    """

    rules: frozenset[str] = frozenset()
    messages: frozenset[str] = frozenset()


NOTHING_KNOWN = Known()
"""The known expressions of a new definition: none."""


def known_expressions(schemas: Iterable[Keywords]) -> Known:
    """
    Collect the expressions of a definition.

    Source:
        apiextensions-apiserver, ``pkg/apis/apiextensions/validation/validation.go``,
        ``findPreexistingExpressions``.
    """
    rules = [rule for root in schemas for node in nodes(root) for rule in rules_of(node)]
    return Known(
        frozenset(text(rule, "rule") for rule in rules),
        frozenset(text(rule, "messageExpression") for rule in rules),
    )


def rules_of(keywords: Keywords) -> tuple[Mapping[str, JSON], ...]:
    """
    Return the validation rules of a node.
    """
    found = keywords.get("x-kubernetes-validations")
    listed = found if isinstance(found, list) else ()
    return tuple(rule for rule in listed if isinstance(rule, dict))
