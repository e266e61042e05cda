"""
Does an object satisfy its schema, and can it still be updated? The one place where the engine asks.
"""

from collections.abc import Callable, Iterable

from espalier import crd, schema
from espalier.crd import Definition
from espalier.engine.status.path_counts import general
from espalier.engine.status.text import printable, printable_path
from espalier.findings import Computed, FieldError
from espalier.golang.printing import quote
from espalier.paths import JSON, Path, render_path
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
    Write violations by path, kind and what the schema asks for: no value of an object gets out.
    """
    return tuple(map(_described, violations))


def _described(violation: FieldError) -> str:
    kind = f"{general(violation.path)}: {violation.type.value.strip()}"
    detail = schema_detail(violation, in_general=True)
    return f"{kind}: {detail}" if detail else kind


def schema_detail(violation: FieldError, *, in_general: bool = False) -> str:
    """
    Describe a violation, as far as the text comes from the schema; empty where none does.

    What a ``messageExpression`` or a format's parser made of a value is replaced by the rule, or by
    the keyword.

    Args:
        in_general: Whether the text is to be the same for all items of a list.
    """
    detail = violation.detail
    if isinstance(detail, Computed):
        return _rule_detail(detail, general if in_general else printable_path)
    if violation.origin in _OF_THE_SCHEMA:
        return printable(detail.removeprefix(f"{render_path(violation.path)} in body "))
    return f"by {violation.origin}" if detail and violation.origin else ""


def _rule_detail(detail: Computed, write: Callable[[Path], str]) -> str:
    where = write(detail.node_path) or "the object"
    text = f"rule {detail.rule_number} of {where}"
    if detail.rule_text:
        text = f"{text}: {printable(quote(detail.rule_text))}"
    return f"{text}: {detail.cause}" if detail.cause else text
