"""
A descriptor that the event loop takes for another's costs a request, and not the process.
"""

import asyncio
import socket

import pytest

from espalier.errors import TransientError
from tests.cluster.scripted import WIDGETS, Reply, Script, connected


class Leftover(asyncio.Transport):
    """
    The transport of a connection that the event loop has not let go of.
    """

    def is_closing(self) -> bool:
        return False


# Since Python 3.13 the server of the test may meet the descriptor too, and drops what it accepted.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_a_refused_descriptor_is_a_failed_connection() -> None:
    leftover = Leftover()
    async with connected(Script(Reply(body={"items": []}))) as cluster:
        with socket.socket() as probe:
            descriptor = probe.fileno()
        # What a connect leaves behind that was cut short.
        held = asyncio.get_running_loop()._transports  # type: ignore[attr-defined] # noqa: SLF001
        held[descriptor] = leftover
        with pytest.raises(TransientError, match="is used by transport"):
            await cluster.objects.list_objects(WIDGETS, page_size=1, continue_token=None)
