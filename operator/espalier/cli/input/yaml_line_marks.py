"""
The positions of the values in a document that was read line by line.
"""

from collections.abc import Iterator

from espalier.cli.input.positions import LazyMarks, Mark, Place, TextPositions
from espalier.cli.input.yaml_entries import ENTRY
from espalier.cli.input.yaml_flow import member_offsets
from espalier.paths import JSON


class LineMarks(LazyMarks):
    """
    The positions of a document of lines; its entries are matched again when one is asked for.

    Args:
        start: The offset in the text at which the first entry begins.
    """

    def __init__(self, text: TextPositions, value: JSON, start: int) -> None:
        super().__init__(text)
        self._value = value
        self._start = start
        self._known: dict[Place, int] = {}
        self._unread: Iterator[tuple[Place, int]] | None = None

    def __getitem__(self, place: Place) -> Mark:
        """
        Return the position of a value; the entries after it are not matched.
        """
        known = self._known
        if place not in known:
            self._unread = unread = self._unread or self._found()
            for found, offset in unread:
                known[found] = offset
                if found == place:
                    break
        return self._text.mark(known[place])

    def _found(self) -> Iterator[tuple[Place, int]]:
        # A text has the members in the order of the values.
        return zip(_places(self._value), _entries(self._text.text, self._start), strict=True)


def _entries(text: str, position: int) -> Iterator[int]:
    # After the last entry is the start of another document, or the end of the text.
    while (match := ENTRY.match(text, position)) is not None:
        position = match.end()
        dash, key, quoted_key = match.group("dash", "key", "quoted_key")
        offset = match.end("indent" if dash is None else "dash")
        if dash is not None:
            yield offset
        if key is not None or quoted_key is not None:
            yield offset
        if match["flow"] is not None:
            bracket = match.start("flow")
            yield from (bracket + member for member in member_offsets(match["flow"]))


def _places(value: JSON) -> Iterator[Place]:
    walk: list[Iterator[tuple[Place, JSON]]] = [_members(value)]
    while walk:
        for place, member in walk[-1]:
            yield place
            if isinstance(member, (dict, list)):
                walk.append(_members(member))
                break
        else:
            walk.pop()


def _members(container: JSON) -> Iterator[tuple[Place, JSON]]:
    if isinstance(container, dict):
        for key, member in container.items():
            yield (id(container), key), member
    elif isinstance(container, list):
        for index, member in enumerate(container):
            yield (id(container), index), member
