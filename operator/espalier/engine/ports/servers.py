"""
Writes that are not sent: through servers that are behind, and where this process may not write.

A server is behind if it does not store objects at the storage version yet, though the definition
has it.
"""

from typing import NamedTuple

from espalier.errors import TransientError


class ServersSeen(NamedTuple):
    """
    What servers have shown of the version that they store, as far as they show it.

    Attributes:
        behind: How many connections led to a server that stores another version, at this look or
            since the last one.
        caught_up: How many of those that were asked at this look led to another server.
    """

    behind: int = 0
    caught_up: int = 0


class ServerBehindError(TransientError, kw_only=True):
    """
    No connection led to an API server that stores the storage version; nothing was written.
    """


class NotSentError(TransientError, kw_only=True):
    """
    This process decided not to send a request, so nothing was written.

    The server did not struggle; the same call may be made again.
    """
