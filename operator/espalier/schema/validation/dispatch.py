"""
Choose the checks that can find anything for the values of a node: mostly one, or none.

The choice depends only on the node and on the class of the value, so it is made once.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from espalier.paths import JSON, Path
from espalier.schema.model import Structural
from espalier.schema.validation.keywords import CHECKS, SPEAKING, Checks, check_type
from espalier.schema.validation.violations import At, Check, ValueViolations

FormatOf: TypeAlias = Callable[[Structural], str]

_SAMPLES: tuple[JSON, ...] = ("", 0, True, [], {})
"""One value of each class whose type depends on the class alone; a float's does not."""


class NodeChecks(NamedTuple):
    """
    The checks of the values of one class at one node.

    Attributes:
        matches: The matches of the checks that are left out because their result is known.
        checks: The checks to make, in the order of the server.
    """

    matches: int
    checks: tuple[Check, ...]


class Plans:
    """
    The checks of a schema's nodes, chosen when they are first needed.
    """

    def __init__(self, format_of: FormatOf) -> None:
        self._format_of = format_of
        self._made: dict[Structural, dict[type, NodeChecks]] = {}

    def of(self, node: Structural, kind: type) -> NodeChecks:
        """
        Return the checks for the values of a class; null has none.
        """
        of_node = self._made.get(node)
        if of_node is None:
            of_node = self._made[node] = {}
        plan = of_node.get(kind)
        if plan is None:
            plan = of_node[kind] = self._make(node, kind)
        return plan

    def _make(self, node: Structural, kind: type) -> NodeChecks:
        matches = 1
        checks: list[Check] = []
        for group in CHECKS:
            if group.of is None or kind in group.of:
                matches += group.matches
                checks += _merged(group, node)
        for sample in _SAMPLES:
            if sample.__class__ is kind:
                tried = ValueViolations()
                check_type(sample, node, At((), "", _walk, _walk, self._format_of), tried)
                if not tried.violations:
                    checks.remove(check_type)
                    matches += tried.matches
        return NodeChecks(matches, tuple(checks))


@functools.lru_cache(maxsize=1024)
def plans_of(_root: Structural, format_of: FormatOf) -> Plans:
    """
    Return the plans of a schema; the recently used ones are cached.
    """
    return Plans(format_of)


def _merged(group: Checks, node: Structural) -> list[Check]:
    speaking = [check for check in group.checks if check is check_type or SPEAKING[check](node)]
    if not group.only_first or len(speaking) < 2:  # noqa: PLR2004 - of one there is but a first
        return speaking

    def check_until_first(value: JSON, node: Structural, at: At, result: ValueViolations) -> None:
        before = len(result.violations)
        for check in speaking:
            check(value, node, at, result)
            if len(result.violations) > before:
                return

    return [check_until_first]


def _walk(_value: JSON, _node: Structural, _path: Path) -> ValueViolations:
    # The check of the type does not descend into the value.
    return ValueViolations()
