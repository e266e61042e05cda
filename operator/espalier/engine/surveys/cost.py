"""
Estimates what the examination of an object may cost at the most, before it is made.

The estimate is the number of the object's values, times how many parts of the schema may look at
one value. It is meant to be far too high for most objects, and too low for none: whether an object
is examined in the event loop depends on it.
"""

from espalier.schema import Structural

MAX_COST = 1_000
"""
The most that is examined in the event loop. One unit took up to 0.1 ms (values under ``oneOf``).
"""

MAX_BYTES = 64 * 1024
"""The largest object that is: texts are few values, and may be long."""

MAX_RULES = 50
"""With more rules, the first object takes too long, since all of them are compiled then."""

RULE_COST = 4
ENUM_VALUES = 16


class CostEstimate:
    """
    The estimates for the objects of one schema.
    """

    def __init__(self, structural: Structural | None) -> None:
        self._weight = 1
        self._is_unbounded = False
        if structural is None:
            return
        try:
            self._weight = _weight(structural)
            self._is_unbounded = _count_rules(structural) > MAX_RULES
        except RecursionError:
            self._is_unbounded = True

    def is_cheap(self, data: bytes) -> bool:
        """
        Report whether an object may be examined in the event loop, by its JSON.
        """
        if self._is_unbounded or len(data) > MAX_BYTES:
            return False
        # Each value but the first follows a comma or opens a container. Those in texts do no harm.
        values = 1 + data.count(b",") + data.count(b"{") + data.count(b"[")
        return values * self._weight <= MAX_COST


def _weight(node: Structural) -> int:
    """
    Count the parts of a schema that look at one value, where they are most.
    """
    validation = node.value_validation
    # Rules and junctors look at all that is below them, too.
    whole = RULE_COST * len(node.validations)
    whole += sum(_weight(member) for _, member in validation.junctors())
    own = 1 + len(validation.enum) // ENUM_VALUES
    return whole + max(own, *map(_weight, _children(node)), 0)


def _children(node: Structural) -> list[Structural]:
    children = list(node.properties.values())
    if node.items is not None:
        children.append(node.items)
    if isinstance(node.additional_properties, Structural):
        children.append(node.additional_properties)
    return children


def _count_rules(root: Structural) -> int:
    rules, waiting = 0, [root]
    while waiting:
        node = waiting.pop()
        rules += len(node.validations)
        waiting += _children(node)
    return rules
