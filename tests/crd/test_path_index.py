"""
A search among many paths gives what comparing each pair gives, in steps that grow as the paths do.
"""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from espalier.crd.field_sets import segments_of
from espalier.crd.path_index import PathIndex
from tests.effort import calls_of

SEGMENTS = st.sampled_from([".a", ".b", ".c", ".*", "[*]"])
PATHS = st.lists(SEGMENTS, min_size=1, max_size=5).map("".join)
OPEN = st.tuples(PATHS, st.booleans()).map(lambda pair: pair[0] + (".**" if pair[1] else ""))

Make = Callable[[int], str]


def may_lie_in(path: str, whole: str) -> bool:
    inner, outer = segments_of(path), segments_of(whole)
    is_open = inner[-1:] == [".**"]
    if is_open:
        inner.pop()
    if len(outer) > len(inner) and not is_open:
        return False
    return all(
        left == right or ".*" in (left, right) for left, right in zip(inner, outer, strict=False)
    )


@given(wholes=st.lists(PATHS, max_size=40), paths=st.lists(OPEN, max_size=40))
def test_a_search_finds_what_comparing_each_pair_finds(
    wholes: Sequence[str], paths: Sequence[str]
) -> None:
    index = PathIndex(wholes)
    for path in paths:
        assert index.may_hold(path) is any(may_lie_in(path, whole) for whole in wholes)


@pytest.mark.parametrize(
    ("path", "whole"),
    [
        pytest.param(lambda n: f".spec.x{n}.y", lambda n: f".spec.z{n}", id="names"),
        pytest.param(lambda n: f".spec.x{n}.*.y", lambda n: f".spec.*.k{n}.z", id="maps of names"),
        pytest.param(lambda n: f".spec.*.x{n}", lambda n: f".spec.k{n}.y{n}", id="names of maps"),
        pytest.param(lambda n: f".spec.*.*.x{n}", lambda n: f".spec.k{n}.y{n}.z", id="two maps"),
        pytest.param(
            lambda n: f".spec.x{n}.**", lambda n: f".spec.*.y{n}", id="all that lies below"
        ),
    ],
)
def test_the_steps_of_all_searches_grow_as_the_paths_do(path: Make, whole: Make) -> None:
    def effort(most: int) -> int:
        wholes, paths = [whole(n) for n in range(most)], [path(n) for n in range(most)]

        def work() -> None:
            index = PathIndex(wholes)
            for each in paths:
                index.may_hold(each)

        return calls_of(work)

    assert effort(2000) < 5 * effort(500)
