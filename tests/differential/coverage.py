"""
Count which rules of the structural check the generated schemas hit, and how often.

Most rules are recognised by a finding. Two rules are exceptions: they are recognised by the absence
of a finding.
"""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from espalier import schema
from espalier.errors import SchemaParseError
from espalier.paths import JSON
from espalier.schema import Profile, Structural

LEAST_HITS = 50
"""How often each rule must be hit for a run to mean anything."""

_BY_TEXT: Mapping[str, str] = MappingProxyType(
    {
        "ST-S1 array without items": r"items: Required value: must be specified$",
        "ST-S2 additionalProperties at the root": r"must not be used at the root$",
        "ST-S3 int-or-string preserves": r"-preserve-unknown-fields: Invalid value: true: must be",
        "ST-S4 int-or-string is embedded": r"-embedded-resource: Invalid value: true: must be",
        "ST-S5 embedded is no object": r"must be object if x-kubernetes-embedded-resource",
        "ST-S6 empty type": r"must not be empty (at the root|for specified)",
        "ST-S7 additionalProperties of embedded": r"must not be used if x-kubernetes-embedded",
        "ST-S8 root is no object": r"must be object at the root$",
        "ST-S9 type of kind or apiVersion": r"must be string$",
        "ST-S10 type of metadata": r"\[metadata\]\.type: Invalid value: .*: must be object$",
        "ST-S11 root metadata says too much": r"must not specify anything other than name",
        "ST-S12 embedded without properties": r"x-kubernetes-embedded-resource is true without",
        "ST-S13 forbidden in junctors": r"Forbidden: must be .* to be structural$",
        "ST-S15 metadata in junctors": r"must not be specified in a nested context$",
        "ST-S16 pattern": r"must be a valid regular expression, but isn't",
        "ST-S17 incomplete root": r"Required value: because it is defined in",
    }
)
_S14 = "ST-S14 int-or-string patterns"
_S18 = "ST-S18 inner junctors may be incomplete"
RULES = (*_BY_TEXT, _S14, _S18)


def rules_hit(raw: JSON, errors: JSON) -> set[str]:
    """
    Return the names of the rules that one schema hits.

    Args:
        errors: The findings of the structural check.
    """
    listed = errors if isinstance(errors, list) else []
    hit = {
        rule
        for rule, pattern in _BY_TEXT.items()
        if any(re.search(pattern, str(text)) for text in listed)
    }
    try:
        structural = schema.parse(raw, profile=Profile.APISERVER)
    except SchemaParseError:
        return hit
    if structural is not None:
        hit.update(_exceptions(structural))
    return hit


def render(hits: Mapping[str, int]) -> Iterator[str]:
    """
    Return the table, one line for each rule.
    """
    for rule in sorted(RULES, key=lambda rule: int(rule.removeprefix("ST-S").split()[0])):
        few = "" if hits[rule] >= LEAST_HITS else f"  (fewer than {LEAST_HITS})"
        yield f"  {rule:42}{hits[rule]:8}{few}"


def rare(hits: Mapping[str, int]) -> list[str]:
    """
    Return the names of the rules that were hit too seldom for a meaningful run.
    """
    return [rule for rule in RULES if hits[rule] < LEAST_HITS]


def _exceptions(root: Structural) -> Iterator[str]:
    waiting = [(root, True)]
    while waiting:
        node, is_root = waiting.pop()
        validation = node.value_validation
        if validation.any_of_is_int_or_string() or any(
            first.value_validation.any_of_is_int_or_string() for first in validation.all_of[:1]
        ):
            yield _S14
        named = {name for _, member in validation.junctors() for name in member.properties}
        if not is_root and named - node.properties.keys():
            yield _S18
        waiting += [(child, False) for child in node.properties.values()]
        waiting += [
            (child, False)
            for child in (node.items, node.additional_properties)
            if isinstance(child, Structural)
        ]
