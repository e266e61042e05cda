"""
Numbers with their nouns, in messages of all kinds.
"""


def counted(number: int, noun: str, *, is_grouped: bool = False) -> str:
    """
    Write a number with its noun: ``1 object``, ``2 objects``.

    Args:
        is_grouped: Whether a comma stands before each three digits: ``1,250 objects``.
    """
    digits = f"{number:,}" if is_grouped else str(number)
    return f"{digits} {noun}" if number == 1 else f"{digits} {noun}s"
