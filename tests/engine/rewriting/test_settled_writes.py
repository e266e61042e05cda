"""
The memory of writes that are proofs, and the sample that is written again.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from espalier.engine.policy.fingerprints import FingerprintSet
from espalier.engine.ports import ObjectKey, StoredMetadata
from espalier.engine.rewriting.settled_writes import Sample, SettledWrites

# Few places, so that numbers collide.
numbers = st.integers(0, 2**64 - 1) | st.integers(0, 40).map(lambda n: n * 1024)


@given(st.lists(numbers), st.lists(numbers))
def test_a_fingerprint_set_holds_what_a_set_holds(added: list[int], asked: list[int]) -> None:
    ours, builtin = FingerprintSet(), set[int]()
    for number in added:
        ours.add(number)
        # A free slot is a zero.
        builtin.add(number or 1)
    assert len(ours) == len(builtin)
    assert all((number in ours) == ((number or 1) in builtin) for number in [*added, *asked])


def test_a_fingerprint_set_takes_sixteen_bytes_a_number_at_most() -> None:
    ours = FingerprintSet()
    for number in range(100_000):
        ours.add(number * 0x9E3779B97F4A7C15 % 2**64)
        if number > 1024:
            assert ours.size_bytes <= 16 * len(ours)
    ours.clear()
    assert (len(ours), ours.size_bytes) == (0, 8 * 1024)


@pytest.mark.parametrize(("total", "wanted"), [(10, 3), (3, 10), (5, 5), (5, 0), (1000, 10)])
def test_a_sample_has_the_wanted_size(total: int, wanted: int) -> None:
    sample = Sample(total=total, wanted=wanted)
    assert sum(sample.draws() for _ in range(total)) == min(total, wanted)


def test_each_object_may_be_drawn() -> None:
    drawn = set()
    for _ in range(500):
        sample = Sample(total=10, wanted=2)
        drawn |= {number for number in range(10) if sample.draws()}
    assert drawn == set(range(10))


def test_more_objects_than_were_remembered_are_drawn_by_no_error() -> None:
    sample = Sample(total=2, wanted=1)
    assert sum(sample.draws() for _ in range(5)) >= 1


def metadata(uid: str, resource_version: str) -> StoredMetadata:
    return StoredMetadata(key=ObjectKey("default", uid), uid=uid, resource_version=resource_version)


def test_only_the_state_that_was_answered_is_proved() -> None:
    now_seconds = 10.0
    settled = SettledWrites(lambda: now_seconds, sample_least=1)
    assert not settled.is_proof()
    settled.restart(11.0)
    assert not settled.is_proof()
    settled.restart(10.0)
    assert settled.is_proof()
    settled.add("a", "7")
    assert settled.proves(metadata("a", "7"))
    assert not settled.proves(metadata("a", "8"))
    assert not settled.proves(metadata("b", "7"))
    settled.refute()
    settled.add("a", "7")
    assert not settled.proves(metadata("a", "7"))
    assert not settled.is_proof()
    settled.restart(10.0)
    assert not settled.is_proof()


def test_whoever_relies_on_it_hears_when_all_is_forgotten() -> None:
    heard: list[str] = []
    settled = SettledWrites(lambda: 0.0, sample_least=1, on_doubt=lambda: heard.append("doubt"))
    settled.restart(0.0)
    settled.refute()
    assert heard == ["doubt", "doubt"]
