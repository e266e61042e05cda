"""
Bounded texts for conditions: counts, short lists, cut messages.
"""

from collections.abc import Iterable

from espalier.paths import Step, render_path

MAX_MESSAGE_LENGTH = 8 * 1024
"""In characters; even with four bytes each it stays far below what a status may hold."""


MAX_PATH_CHARACTERS = 400
"""Of a path in a message: an object may have been made of long names."""

MAX_KEY_CHARACTERS = 120
"""Of one step of it."""

_CUT = "..."
_ASTRAL = 0x10000

MAX_NAMED = 5
"""How many offenders, causes or paths a message names before it counts the rest."""


def enumerated(
    items: Iterable[str],
    *,
    total: int | None = None,
    separator: str = ", ",
    most: int = MAX_NAMED,
) -> str:
    """
    Join the first few texts with commas, and add how many more there are.

    Args:
        total: How many there are in all, where ``items`` holds only some of them.
        most: How many are named.
    """
    listed = list(items)
    named = listed[:most]
    more = (len(listed) if total is None else total) - len(named)
    text = separator.join(named)
    return f"{text} and {more} more" if more > 0 else text


def printable(text: str, *, max_characters: int = MAX_PATH_CHARACTERS) -> str:
    r"""
    Escape what a tenant may have put into a name, for every condition, Event, log and annotation.

    Args:
        text: A path, or a step of one; keys of maps have any characters.
        max_characters: A longer text is cut in the middle.

    Returns:
        Control characters, line breaks, escape sequences, and what turns the direction of writing
        or is not seen, are written as ``\u001b``.
    """
    escaped = text if text.isprintable() else "".join(map(_escaped, text))
    return cut_in_the_middle(escaped, max_characters)


def cut_in_the_middle(text: str, max_characters: int) -> str:
    """
    Shorten a text, and keep its end: servers put the cause of an error last.
    """
    if len(text) <= max_characters:
        return text
    kept = max_characters - len(_CUT)
    return f"{text[: kept - kept // 2]}{_CUT}{text[len(text) - kept // 2 :]}"


def printable_path(path: Iterable[Step]) -> str:
    """
    Write a path as field errors have it, escaped; long keys and long paths are cut in the middle.
    """
    return printable(render_path(_printable_step(step) for step in path))


def bounded(message: str) -> str:
    """
    Cut a message that is too long for a condition.
    """
    if len(message) <= MAX_MESSAGE_LENGTH:
        return message
    return message[: MAX_MESSAGE_LENGTH - 4] + " ..."


def _printable_step(step: Step) -> Step:
    if isinstance(step, int):
        return step
    return type(step)(printable(step, max_characters=MAX_KEY_CHARACTERS))


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < _ASTRAL else f"\\U{code:08x}"
