"""
Defaults in the API server: it prunes them when it starts to serve a schema.
"""

from collections.abc import Iterator

from espalier.paths import JSON
from espalier.schema.model import Structural
from espalier.schema.normalization.compiler import OWN_FIELDS, Compiler, Steps
from espalier.schema.normalization.embedded_resources import EmbeddedResources
from espalier.schema.profile import Profile

# A stand-in for any key of a map, as in the server.
_ANY_KEY = "*"

_OWN_PATHS = tuple((name,) for name in OWN_FIELDS)


def pruned_defaults(structural: Structural | None) -> dict[Structural, JSON]:
    """
    Prune all defaults of a schema by the schema itself.

    Each default is put into a surrounding object; that is pruned, its metadata decoded, and the
    default taken out again.

    Returns:
        The pruned default of each node that has one; None if nothing is left.

    Source:
        apiextensions-apiserver, ``pkg/apiserver/schema/defaulting/prune.go``, ``PruneDefaults``.
    """
    if structural is None:
        return {}
    found = list(_nodes_with_defaults(structural))
    resources = EmbeddedResources(structural, is_resource=True)
    embeds = resources.exist_in_schema()
    pruned = {node: node.default for node, path in found if path}
    waiting = [
        (node, path)
        for node, path in found
        if embeds or _may_be_pruned(node.default) or path[:1] in _OWN_PATHS
    ]
    if not waiting:
        # Most schemas have only simple defaults, and need not be compiled for them.
        return pruned
    steps = Steps(profile=Profile.APISERVER, prune=True)
    change = Compiler(steps, {}, for_many=False).root(structural, is_resource=True)
    for node, path in waiting:
        around = _surround(node.default, path)
        if isinstance(around, dict):
            coerced = resources.coerce(around, drop_malformed=True).value
            pruned[node] = _take_out(change.within(coerced)[0], path)
    return pruned


def _may_be_pruned(default: JSON) -> bool:
    return isinstance(default, (dict, list)) and len(default) > 0


def _nodes_with_defaults(root: Structural) -> Iterator[tuple[Structural, tuple[str | int, ...]]]:
    waiting: list[tuple[Structural, tuple[str | int, ...]]] = [(root, ())]
    while waiting:
        node, path = waiting.pop()
        if node.default is not None:
            yield node, path
        waiting += [(child, (*path, name)) for name, child in node.properties.items()]
        if node.items is not None:
            waiting.append((node.items, (*path, 0)))
        if isinstance(node.additional_properties, Structural):
            waiting.append((node.additional_properties, (*path, _ANY_KEY)))


def _surround(default: JSON, path: tuple[str | int, ...]) -> JSON:
    around = default
    for step in reversed(path):
        around = [around] if isinstance(step, int) else {step: around}
    return around


def _take_out(around: JSON, path: tuple[str | int, ...]) -> JSON:
    inner = around
    for step in path:
        if isinstance(inner, dict) and isinstance(step, str):
            inner = inner.get(step)
        elif isinstance(inner, list) and isinstance(step, int):
            inner = inner[step]
    return inner
