"""
Which checks have anything to say about the values of a node? Mostly one, or none.

That depends on the node and on the class of the value only, and is found out once.
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
"""Whether such a value is of a type depends on its class alone. That of a float does not."""


class NodeChecks(NamedTuple):
    """
    What is to be done with the values of one class at one node.

    Attributes:
        matches: What the checks add to the matches of a result that need not be made.
        checks: In the order of the server.
    """

    matches: int
    checks: tuple[Check, ...]


class Plans:
    """
    The plans of a schema's nodes, each made when it is asked for.
    """

    def __init__(self, format_of: FormatOf) -> None:
        self._format_of = format_of
        self._made: dict[Structural, dict[type, NodeChecks]] = {}

    def of(self, node: Structural, kind: type) -> NodeChecks:
        """
        Find the plan for the values of a class; null has none.
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
    Find the plans of a schema; those of one that was walked lately are kept.
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
    # The type of a value is checked without a look at its members.
    return ValueViolations()
