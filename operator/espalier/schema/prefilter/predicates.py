"""
Fast predicates on one value, for rules that JSON Schema cannot express.

If a predicate is true, the value is valid. If it is false, the value may still be valid.
"""

from collections.abc import Callable
from typing import TypeAlias

from espalier.golang.regexps import pattern_error
from espalier.paths import JSON
from espalier.schema.model import Structural
from espalier.schema.profile import Profile
from espalier.schema.validation.walk import validate

Judge: TypeAlias = Callable[[JSON], bool]

_EXACT_FLOATS = 1 << 53


def exactly(node: Structural, profile: Profile) -> Judge:
    """
    Make a predicate that asks the exact engine about a node and everything below it.
    """
    # The node becomes an item, since the root's own list type is not checked.
    around = Structural(items=node)
    return lambda value: not validate([value], around, profile=profile)


def of_text(is_right: Callable[[str], bool]) -> Judge:
    """
    Make a predicate that checks texts only; all other values pass.
    """
    return lambda value: not isinstance(value, str) or is_right(value)


def matching(pattern: str) -> Judge | None:
    """
    Make the predicate of a pattern; None if it is not valid, or would need much memory.
    """
    if pattern_error(pattern) is not None:
        return None
    import re2  # noqa: PLC0415 - few schemas have patterns

    options = re2.Options()
    options.log_errors = False
    # A set reports only whether there is a match, which is several times faster than its position.
    patterns = re2.Set.SearchSet(options)
    try:
        patterns.Add(pattern)
        patterns.Compile()
    except (re2.error, UnicodeEncodeError):
        return None
    find = patterns.Match
    return lambda value: not isinstance(value, str) or bool(find(value))


def with_list_type(node: Structural, profile: Profile) -> Judge:
    """
    Make a predicate that checks a list by its type, ``set`` or ``map``.
    """
    exact = exactly(Structural(list_type=node.list_type, list_map_keys=node.list_map_keys), profile)
    if node.list_type == "set":
        return lambda value: _has_distinct_texts(value) or exact(value)
    names = node.list_map_keys
    return lambda value: _has_distinct_keys(value, names) or exact(value)


def _has_distinct_texts(value: JSON) -> bool:
    if not isinstance(value, list):
        return False
    return all(item.__class__ is str for item in value) and len({*value}) == len(value)


def _has_distinct_keys(value: JSON, names: tuple[str, ...]) -> bool:
    if not isinstance(value, list):
        return False
    keys = set()
    for item in value:
        if not isinstance(item, dict):
            return False
        key = tuple(item.get(name) for name in names)
        if not all(map(_is_plain, key)):
            return False
        keys.add(key)
    return len(keys) == len(value)


def _is_plain(part: JSON) -> bool:
    # The server compares keys by their JSON, where different lone surrogates, or large numbers, may
    # be equal. In Python, 1 and true are equal.
    if isinstance(part, str):
        return part.isascii()
    return isinstance(part, int) and part.__class__ is not bool and abs(part) < _EXACT_FLOATS
