"""
Make a question with different answers as small as possible.
"""

from collections.abc import Callable, Iterator

from espalier.paths import JSON
from tests.differential.answering import Group

_MOST_TRIALS = 3000
_PLAINER: tuple[JSON, ...] = ({}, [], None, "", 0)


def shrunk(group: Group, differs: Callable[[Group], bool]) -> Group:
    """
    Return a smaller question whose answers still differ.

    Args:
        group: A question about one value.
        differs: Reports whether the answers to a question differ.
    """
    trials = _MOST_TRIALS
    smaller = True
    while smaller and trials:
        smaller = False
        for candidate in _smaller(group):
            trials -= 1
            if differs(candidate):
                group, smaller = candidate, True
                break
            if not trials:
                break
    return group


def _smaller(group: Group) -> Iterator[Group]:
    for raw in _parts_less(group.raw):
        yield Group(group.op, raw, group.values, group.olds)
    for value in _parts_less(group.values[0]):
        yield Group(group.op, group.raw, [value], group.olds)
    for old in _parts_less(group.olds[0]) if group.olds else ():
        yield Group(group.op, group.raw, group.values, [old])


def _parts_less(value: JSON) -> Iterator[JSON]:
    """
    Yield values with one part removed; the largest parts are removed first.
    """
    match value:
        case dict():
            for name in value:
                yield {key: inner for key, inner in value.items() if key != name}
            for name, inner in value.items():
                for less in _parts_less(inner):
                    yield {**value, name: less}
        case list():
            for index in range(len(value)):
                yield [*value[:index], *value[index + 1 :]]
            for index, inner in enumerate(value):
                for less in _parts_less(inner):
                    yield [*value[:index], less, *value[index + 1 :]]
        case str() if len(value) > 1:
            yield from _shorter(value)
        case _:
            pass


def _shorter(text: str) -> Iterator[str]:
    half = len(text) // 2
    yield text[:half]
    yield text[half:]
    yield from (text[:index] + text[index + 1 :] for index in range(len(text)))
