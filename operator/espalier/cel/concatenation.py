"""
How ``+`` concatenates lists; classes of lists with rules of their own register them here.
"""

from collections.abc import Callable
from typing import Any

from espalier.cel.values import ListValue

_CONCATENATIONS: dict[type, Callable[[Any, Any], "ListValue"]] = {}


def register_concatenation(
    class_: type, concatenate_lists: Callable[[Any, Any], "ListValue"]
) -> None:
    """
    Register how lists of a class are concatenated with others.
    """
    _CONCATENATIONS[class_] = concatenate_lists


def concatenate(left: ListValue, right: ListValue) -> ListValue:
    """
    Concatenate two lists by the class of the left one.
    """
    concatenate_lists = _CONCATENATIONS.get(left.__class__)
    if concatenate_lists is not None:
        return concatenate_lists(left, right)
    if not left.is_of_schema:
        # An empty list leaves the other list as it is.
        if not len(left):
            return right
        if not len(right):
            return left
    return ListValue([*left.items, *right.items])
