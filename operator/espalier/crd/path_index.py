"""
Many paths, kept so that each search takes the steps of the path that is searched for.

A search follows a trie of all paths at once: its state is the set of nodes that the segments so
far may have led to, since a map's values (``.*``) stand for any name. What a state leads to is
remembered, and a state of many nodes is merged once, so that thousands of searches among thousands
of paths cost about as much as reading them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain

from espalier.crd.field_sets import ANY_KEY, ANYTHING, segments_of

# So few nodes are asked one by one, which is cheaper than to merge them.
_FEW = 4


@dataclass(slots=True, eq=False)
class _Node:
    is_end: bool = False
    children: "dict[str, _Node]" = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class _SearchState:
    """
    The nodes that the segments so far may have led to.

    Attributes:
        has_end: Whether a path ends at one of them.
        named: What each segment leads to, once that is merged.
        union: What any segment leads to, once that is known.
    """

    nodes: frozenset[_Node]
    has_end: bool
    named: "dict[str, _SearchState] | None" = None
    union: "_SearchState | None" = None


class PathIndex:
    """
    Paths of places that hold more than is known.

    Args:
        paths: In the text form of ``field_sets``.

    Raises:
        ValueError: A text is no path.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        root = _Node()
        for path in paths:
            node = root
            for segment in segments_of(path):
                node = node.children.setdefault(segment, _Node())
            node.is_end = True
        self._states: dict[frozenset[_Node], _SearchState] = {}
        self._start = self._state([root] if root.children else [])

    def may_hold(self, path: str) -> bool:
        """
        Report whether something at a path may be a part of what lies at one of the paths.

        Raises:
            ValueError: The text is no path.
        """
        segments = segments_of(path)
        is_open = segments[-1:] == [ANYTHING]
        if is_open:
            segments.pop()
        state = self._start
        for segment in segments:
            if state.has_end:
                return True
            state = self._after(state, segment)
        # Each node has a path that ends at it or below.
        return state.has_end or (is_open and bool(state.nodes))

    def _state(self, nodes: Iterable[_Node]) -> _SearchState:
        key = frozenset(nodes)
        state = self._states.get(key)
        if state is None:
            state = _SearchState(key, any(node.is_end for node in key))
            self._states[key] = state
        return state

    def _after(self, state: _SearchState, segment: str) -> _SearchState:
        if segment == ANY_KEY:
            if state.union is None:
                children = (node.children.values() for node in state.nodes)
                state.union = self._state(chain.from_iterable(children))
            return state.union
        if len(state.nodes) <= _FEW:
            names = (segment, ANY_KEY)
            found = (node.children.get(name) for node in state.nodes for name in names)
            return self._state(node for node in found if node is not None)
        if state.named is None:
            state.named = self._merged(state)
        return state.named.get(segment, state.named[ANY_KEY])

    def _merged(self, state: _SearchState) -> dict[str, _SearchState]:
        gathered: dict[str, set[_Node]] = {}
        for node in state.nodes:
            for name, child in node.children.items():
                gathered.setdefault(name, set()).add(child)
        anything = gathered.pop(ANY_KEY, set())
        named = {name: self._state(nodes | anything) for name, nodes in gathered.items()}
        return {**named, ANY_KEY: self._state(anything)}
