"""
Does an object satisfy its schema, and can it still be updated? The one place where the engine asks.
"""

from collections.abc import Iterable

from espalier import crd, schema
from espalier.crd import Definition
from espalier.engine.status.path_counts import general
from espalier.engine.status.text import printable, printable_path
from espalier.findings import Computed, FieldError
from espalier.paths import JSON
from espalier.schema import RuleJudge, StoredObjectVerdict
from espalier.schema.requests.writes import Resource

_VALID = StoredObjectVerdict()

_OF_THE_SCHEMA = frozenset(
    {
        "enum",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "multipleOf",
        "pattern",
        "required",
        "type",
        "x-kubernetes-validations",
    }
)
"""By these keywords a detail holds what the schema asks for, and the place."""


class StoredObjectJudge:
    """
    Judges the objects of a definition by its storage version's schema.

    Args:
        rules: Evaluates CEL rules.
    """

    def __init__(self, definition: Definition, *, rules: RuleJudge) -> None:
        storage = definition.storage
        structural = crd.structural_of(storage)
        self._rules = rules
        self._resource = Resource(
            api_version=f"{definition.group}/{storage.name}",
            kind=definition.kind,
            structural=structural,
            is_namespaced=definition.namespaced,
            has_status=storage.has_status,
        )

    def judge(self, value: JSON) -> StoredObjectVerdict:
        """
        Find what the API server would hold against an object, sent anew or updated.

        Args:
            value: A whole object in its normal form; never changed.
        """
        if not isinstance(value, dict):
            return _VALID
        return schema.judge_stored(value, self._resource, rules=self._rules)


def without_values(violations: Iterable[FieldError]) -> tuple[str, ...]:
    """
    Write violations by path and kind alone: what stands in an object must not get out.
    """
    return tuple(f"{general(one.path)}: {one.type.value.strip()}" for one in violations)


def schema_detail(violation: FieldError) -> str:
    """
    Describe a violation, as far as the text comes from the schema; empty where none does.

    What a ``messageExpression`` or a format's parser made of a value is replaced by the place of
    the rule, or by the keyword.
    """
    detail = violation.detail
    if isinstance(detail, Computed):
        return f"rule {detail.rule_number} at {printable_path(detail.node_path)}"
    if violation.origin in _OF_THE_SCHEMA:
        return printable(detail)
    return f"by {violation.origin}" if detail and violation.origin else ""
