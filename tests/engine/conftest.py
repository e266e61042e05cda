"""
The engine's tests run in virtual time: an hour of settling takes no time at all.
"""

import asyncio
from collections.abc import Callable, Mapping

import pytest

from tests.fakes.clock import VirtualLoop


def pytest_asyncio_loop_factories(
    item: pytest.Item,
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """
    Give each test a loop of its own, in virtual time unless it is marked ``real_time``.
    """
    if item.get_closest_marker("real_time"):
        return {"real time": asyncio.new_event_loop}
    return {"virtual time": VirtualLoop}
