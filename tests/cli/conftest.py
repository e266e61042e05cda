"""
What each test of the command line leaves as it was.
"""

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def collector_as_before() -> Iterator[None]:
    """
    Undo how often commands let Python search for cycles: they mean a process of their own.
    """
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
