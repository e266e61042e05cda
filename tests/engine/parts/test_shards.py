"""
The division of objects by the hashes of their uids.
"""

import itertools
import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from espalier.engine.ports import HashRange, Part, read_part
from espalier.engine.ports.shards import MAX_PARTS, hash_of_uid

UIDS = st.one_of(st.uuids().map(str), st.text(max_size=40).filter(str.isprintable))


@pytest.mark.parametrize(
    ("text", "digest"),
    [
        # The test vectors of the function's authors.
        ("", 0xCBF29CE484222325),
        ("a", 0xAF63DC4C8601EC8C),
        ("foobar", 0x85944171F73967E8),
    ],
)
def test_the_hash_is_fnv_1a(text: str, digest: int) -> None:
    assert hash_of_uid(text) == digest


@settings(max_examples=40)
@given(uid=UIDS, count=st.integers(1, MAX_PARTS))
def test_each_uid_is_in_exactly_one_part(uid: str, count: int) -> None:
    digest = hash_of_uid(uid)
    ranges = [Part(number, count).hashes for number in range(count)]

    assert sum(one.start <= digest < one.end for one in ranges) == 1
    (number,) = (number for number, one in enumerate(ranges) if one.holds(uid))
    assert number == digest * count // 2**64


@settings(max_examples=20)
@given(count=st.integers(1, MAX_PARTS))
def test_the_parts_lie_side_by_side_and_are_of_one_size(count: int) -> None:
    ranges = [Part(number, count).hashes for number in range(count)]

    assert (ranges[0].start, ranges[-1].end) == (0, 2**64)
    assert all(one.end == other.start for one, other in itertools.pairwise(ranges))
    sizes = {one.end - one.start for one in ranges}
    assert max(sizes) - min(sizes) <= 1


def test_real_uids_fall_into_all_parts_alike() -> None:
    uids = [str(uuid.uuid5(uuid.NAMESPACE_DNS, str(number))) for number in range(8000)]

    counts = [sum(map(Part(number, 8).hashes.holds, uids)) for number in range(8)]

    assert sum(counts) == 8000
    # A share of 1000 with a standard deviation of 30.
    assert all(800 < count < 1200 for count in counts), counts


def test_the_selector_is_the_one_that_the_api_server_reads() -> None:
    assert Part(0, 2).hashes.selector == (
        "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"
    )
    # The end of all hashes has one digit more.
    assert Part(1, 2).hashes.selector.endswith("'0x8000000000000000', '0x10000000000000000')")
    assert HashRange(1, 2).selector.endswith("'0x0000000000000001', '0x0000000000000002')")


@pytest.mark.parametrize(
    "text", ["", "1", "/", "8/8", "-1/8", "1/0", "0/1001", "01/x", "1/8 ", "²/8", "1/8/2"]
)
def test_what_is_no_part_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="part"):
        read_part(text)


def test_parts_are_counted_from_0_on() -> None:
    assert [str(read_part(text)) for text in ("0/1", "7/8", "999/1000")] == [
        "0/1",
        "7/8",
        "999/1000",
    ]
