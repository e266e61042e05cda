"""
The event loop of commands that write: what ends it.
"""

import asyncio
import signal
import sys

import pytest

from espalier.cli.event_loop import run


@pytest.mark.skipif(sys.platform == "win32", reason="a process ends at once there")
def test_a_kubelet_ends_a_command_as_ctrl_c_does_once_its_lease_is_released() -> None:
    before = signal.getsignal(signal.SIGTERM)
    released = []

    async def work() -> None:
        asyncio.get_running_loop().call_soon(signal.raise_signal, signal.SIGTERM)
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            released.append("lease")

    with pytest.raises(KeyboardInterrupt):
        run(work())

    assert released == ["lease"]
    assert signal.getsignal(signal.SIGTERM) == before


def test_what_is_cancelled_from_inside_is_no_interruption() -> None:
    async def work() -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        run(work())


def test_the_result_is_returned_and_an_error_raised() -> None:
    async def work() -> int:
        return 3

    async def fail() -> int:
        raise ValueError("three")

    assert run(work()) == 3
    with pytest.raises(ValueError, match="three"):
        run(fail())
