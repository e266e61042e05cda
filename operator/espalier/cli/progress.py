"""
How commands report progress, whatever shows it.
"""

from typing import Protocol


class Advance(Protocol):
    """
    Move a progress bar.
    """

    def __call__(self, done: int, *, total: int | None = None, text: str = "") -> None:
        """
        Show how much is done.

        Args:
            done: The number done since the start, not since the last call.
            total: The number to do; None leaves it unchanged.
            text: The label of the bar; an empty text leaves it unchanged.
        """


def no_progress(done: int, *, total: int | None = None, text: str = "") -> None:
    """
    Show nothing.
    """
    del done, total, text
