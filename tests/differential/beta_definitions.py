"""
Generate definitions of v1beta1, whose fields may be at the top, in the versions, or at both.
"""

from copy import deepcopy

from espalier.paths import JSON
from tests.differential import definitions
from tests.differential.dice import Dice
from tests.differential.worsening import Node

_TOPS = {
    "schema": "validation",
    "subresources": "subresources",
    "additionalPrinterColumns": "additionalPrinterColumns",
    "selectableFields": "selectableFields",
}


def definition(dice: Dice) -> Node:
    """
    Return a definition of v1beta1.
    """
    return beta(dice, definitions.definition(dice))


def updated(dice: Dice, old: Node) -> Node:
    """
    Return a definition of v1beta1 that replaces an old one; often only one field differs.
    """
    new, other = deepcopy(old), definition(dice)
    new.pop("status", None)
    before, after = _spec(new), _spec(other)
    for name in sorted({*before, *after}):
        if dice.seldom(4):
            before.pop(name, None)
            if name in after:
                before[name] = after[name]
    return new


def beta(dice: Dice, made: Node) -> Node:
    """
    Move fields of a v1 definition to where v1beta1 may have them.
    """
    made["apiVersion"] = "apiextensions.k8s.io/v1beta1"
    spec = _spec(made)
    entries = spec["versions"]
    assert isinstance(entries, list)
    versions = [each for each in entries if isinstance(each, dict)]
    for own, top in _TOPS.items():
        _move(dice, versions, own, spec, top)
    for holder in (spec, *versions):
        columns = holder.get("additionalPrinterColumns")
        if isinstance(columns, list):
            holder["additionalPrinterColumns"] = [_column(each) for each in columns]
    if dice.seldom(3):
        spec["version"] = dice.pick(("v1", "v2", "V_1", ""))
    if dice.seldom(6):
        spec.pop("versions")
    if not dice.seldom(3):
        spec["preserveUnknownFields"] = False
    conversion = spec.get("conversion")
    if isinstance(conversion, dict):
        spec["conversion"] = _conversion(conversion)
    return made


def _move(dice: Dice, versions: list[Node], own: str, spec: Node, top: str) -> None:
    chosen = next((version[own] for version in versions if own in version), None)
    if chosen is None:
        return
    if dice.seldom(3):
        for version in versions:
            # The same in all versions.
            version[own] = deepcopy(chosen)
    elif dice.seldom(2):
        spec[top] = deepcopy(chosen)
        for version in versions:
            if not dice.seldom(12):
                version.pop(own, None)


def _spec(made: Node) -> Node:
    spec = made["spec"]
    assert isinstance(spec, dict)
    return spec


def _column(column: JSON) -> JSON:
    if not isinstance(column, dict):
        return column
    return {("JSONPath" if name == "jsonPath" else name): each for name, each in column.items()}


def _conversion(conversion: Node) -> Node:
    flat = {**conversion}
    webhook = flat.pop("webhook", None)
    if isinstance(webhook, dict):
        if "clientConfig" in webhook:
            flat["webhookClientConfig"] = webhook["clientConfig"]
        if "conversionReviewVersions" in webhook:
            flat["conversionReviewVersions"] = webhook["conversionReviewVersions"]
    return flat
