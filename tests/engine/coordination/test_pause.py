"""
Stories of an operator that a person pauses.
"""

import asyncio

import pytest

from espalier.engine.coordination.pause import (
    BUSY_SECONDS,
    IDLE_LOOK_SECONDS,
    LOG_AGAIN_SECONDS,
    MAX_AGE_SECONDS,
)
from espalier.errors import LeaseLostError, TransientError
from tests.engine.coordination.test_buckets import CRD, contending
from tests.fakes.replicas import Rivals


async def test_no_write_begins_half_a_second_after_the_switch_was_set() -> None:
    rivals = Rivals(1)
    one = rivals.replica("one")
    async with contending(one):
        await rivals.clock.advance(30.1)
        await one.buckets.confirm(CRD)
        rivals.switch.is_on = True
        await rivals.clock.sleep(MAX_AGE_SECONDS + 0.01)
        with pytest.raises(LeaseLostError, match="paused"):
            await one.buckets.confirm(CRD)
        assert not one.buckets.may_begin(CRD)
        assert not one.buckets.owns(CRD)


async def test_work_ends_within_a_second_and_the_buckets_are_left_until_the_pause_is_over() -> None:
    rivals = Rivals(2)
    one, two = rivals.replica("one"), rivals.replica("two")
    async with contending(one, two):
        await rivals.clock.advance(30)
        for replica in (one, two):
            crds = (f"crd{number}.example.com" for number in range(64))
            await replica.buckets.confirm(next(filter(replica.buckets.owns, crds)))
        rivals.switch.is_on = True
        await rivals.clock.advance(1.1)
        assert rivals.holders() == ["", ""]
        assert [one.log[-2:], two.log[-2:]] == [
            [f"put down {number}, and report", f"put down {number}"] for number in (0, 1)
        ]
        beats = dict(rivals.beats)
        await rivals.clock.advance(100)
        assert (rivals.holders(), rivals.beats) == (["", ""], beats)
        rivals.switch.is_on = False
        await rivals.clock.advance(20)
        assert sorted(rivals.holders()) == ["one", "two"]


async def test_one_that_starts_paused_takes_nothing_and_reads_no_switch() -> None:
    rivals = Rivals(1)
    one = rivals.replica("one", is_paused=True)
    async with contending(one):
        await rivals.clock.advance(100)
        assert (rivals.leases, one.log, rivals.switch.reads) == ({}, [], 0)


async def test_a_switch_that_was_set_before_the_start_is_seen_before_anything_is_taken() -> None:
    rivals = Rivals(1)
    rivals.switch.is_on = True
    one = rivals.replica("one")
    async with contending(one):
        await rivals.clock.advance(100)
        assert (rivals.leases, one.log) == ({}, [])


async def test_nothing_is_written_while_the_switch_cannot_be_read() -> None:
    rivals = Rivals(1)
    one = rivals.replica("one")
    async with contending(one):
        await rivals.clock.advance(10)
        rivals.switch.is_cut_off = True
        await rivals.clock.sleep(1)
        with pytest.raises(TransientError):
            await one.buckets.confirm(CRD)
        # The bucket stays: a server that is away for a moment ends no work.
        assert one.buckets.owns(CRD)


async def test_the_switch_is_read_once_for_many_writes_and_seldom_without_any() -> None:
    rivals = Rivals(1)
    one, standby = rivals.replica("one"), rivals.replica("standby")
    async with contending(standby), contending(one):
        await rivals.clock.advance(100)
        before = rivals.switch.reads
        await rivals.clock.advance(100)
        idle = rivals.switch.reads - before
        holder = one if one.buckets.owns(CRD) else standby
        await asyncio.gather(*(holder.buckets.confirm(CRD) for _ in range(100)))
        many = rivals.switch.reads - before - idle
        await rivals.clock.advance(BUSY_SECONDS)
        busy = rivals.switch.reads - before - idle - many
    assert idle <= 2 * (100 / IDLE_LOOK_SECONDS + 1)
    assert many <= 1
    assert busy <= BUSY_SECONDS / MAX_AGE_SECONDS + 3


async def test_writes_that_wait_share_a_read_of_the_switch_that_fails() -> None:
    rivals = Rivals(1)
    one = rivals.replica("one")
    async with contending(one):
        await rivals.clock.advance(10)
        rivals.switch.is_cut_off = True
        await rivals.clock.sleep(1)
        before = rivals.switch.reads
        writes = [one.buckets.confirm(CRD) for _ in range(100)]
        found = await asyncio.gather(*writes, return_exceptions=True)
        assert {type(one) for one in found} == {TransientError}
        assert rivals.switch.reads - before <= 2


async def test_a_switch_that_cannot_be_read_is_logged_once_and_then_once_a_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def logged(text: str) -> int:
        return sum(text in record.message for record in caplog.records)

    caplog.set_level("INFO")
    rivals = Rivals(1)
    one = rivals.replica("one")
    async with contending(one):
        await rivals.clock.advance(10)
        rivals.switch.is_cut_off = True
        await rivals.clock.advance(LOG_AGAIN_SECONDS - 10)
        assert logged("Could not read") == 1
        await rivals.clock.advance(2 * LOG_AGAIN_SECONDS)
        assert logged("Could not read") == 3
        assert logged("can be read again") == 0
        rivals.switch.is_cut_off = False
        await rivals.clock.advance(2 * IDLE_LOOK_SECONDS)
        assert logged("can be read again") == 1
        rivals.switch.is_cut_off = True
        await rivals.clock.advance(2 * IDLE_LOOK_SECONDS)
    assert logged("Could not read") == 4


async def test_a_write_needs_no_read_while_the_switch_was_read_just_before() -> None:
    rivals = Rivals(1)
    one = rivals.replica("one")
    async with contending(one):
        await rivals.clock.advance(30)
        await one.buckets.confirm(CRD)
        assert one.buckets.is_confirmed(CRD)
        rivals.switch.is_cut_off = True
        await rivals.clock.sleep(MAX_AGE_SECONDS + 0.01)
        assert not one.buckets.is_confirmed(CRD)
        # What is known is old, and no pause was seen: a write that was begun before is sent.
        assert one.buckets.may_begin(CRD)
