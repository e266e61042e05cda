"""
The bodies of requests and of responses.
"""

from collections.abc import Callable

import aiohttp

from espalier.cluster.transport.session import NOT_SENT, NotBegunError
from espalier.engine.ports.records import always


class CheckedBody(aiohttp.BytesPayload):
    """
    Bytes that are sent only if a check holds in the moment of sending; headers wait for them.

    The event loop, or the whole process, may have been paused since there was a connection.
    """

    def __init__(self, content: bytes, may_begin: Callable[[], bool]) -> None:
        super().__init__(content)
        self._may_begin = may_begin

    async def write_with_length(
        self, writer: aiohttp.abc.AbstractStreamWriter, content_length: int | None
    ) -> None:
        """
        Write the bytes.

        Raises:
            NotBegunError: The check does not hold. Nothing of the request was sent.
        """
        if not self._may_begin():
            raise NotBegunError(NOT_SENT)
        await super().write_with_length(writer, content_length)


def body_of(content: bytes | None, may_begin: Callable[[], bool]) -> bytes | CheckedBody | None:
    """
    Return what is sent as a body, only while a check holds.
    """
    return content if content is None or may_begin is always else CheckedBody(content, may_begin)


async def read_body(response: aiohttp.ClientResponse, max_bytes: int) -> bytes | None:
    """
    Return the body of a response; None if it has more than ``max_bytes``.
    """
    announced_bytes = response.content_length
    if announced_bytes is not None and "Content-Encoding" not in response.headers:
        # The client reads no more than Content-Length says.
        return await response.read() if announced_bytes <= max_bytes else None
    pieces: list[bytes] = []
    size_bytes = 0
    async for piece in response.content.iter_any():
        size_bytes += len(piece)
        if size_bytes > max_bytes:
            return None
        pieces.append(piece)
    return b"".join(pieces)
