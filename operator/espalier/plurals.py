"""
Numbers with their nouns, in messages of all kinds.
"""


def counted(number: int, noun: str) -> str:
    """
    Write a number with its noun: ``1 object``, ``2 objects``.
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
