"""
The handlers' tests run in virtual time.
"""

from tests.handlers.supervised import supervised
from tests.virtual_time import pytest_asyncio_loop_factories

__all__ = ["pytest_asyncio_loop_factories", "supervised"]
