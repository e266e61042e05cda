"""
Bounded texts for conditions: counts, short lists, cut messages.
"""

from collections.abc import Iterable

MAX_MESSAGE_LENGTH = 8 * 1024
"""In characters; even with four bytes each it stays far below what a status may hold."""


MAX_NAMED = 5
"""How many offenders, causes or paths a message names before it says how many more there are."""


def enumerated(items: Iterable[str], *, total: int | None = None, separator: str = ", ") -> str:
    """
    Join the first few texts with commas, and say how many more there are.

    Args:
        total: How many there are in all, where ``items`` holds only some of them.
    """
    listed = list(items)
    named = listed[:MAX_NAMED]
    more = (len(listed) if total is None else total) - len(named)
    text = separator.join(named)
    return f"{text} and {more} more" if more > 0 else text


def bounded(message: str) -> str:
    """
    Cut a message that is too long for a condition.
    """
    if len(message) <= MAX_MESSAGE_LENGTH:
        return message
    return message[: MAX_MESSAGE_LENGTH - 4] + " ..."
