"""
The positions of the values in a JSON text.

The decoder of the standard library is fast but gives no positions. So the text is scanned a second
time, alongside the decoded values, when the first position is asked for.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from espalier.cli.input.positions import LazyMarks, Place, TextPositions
from espalier.paths import JSON, Step

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]]|[^\s,:{}\[\]"]+', re.DOTALL)


@dataclass(slots=True)
class _OpenValue:
    """
    A container that is being scanned; its key is None when a key comes next.
    """

    value: dict[str, JSON] | list[JSON]
    key: str | None = None
    index: int = 0


class _Skipped:
    """
    A value whose name occurs again, so that it is replaced: its lexemes are passed over.
    """

    def __init__(self) -> None:
        self._is_open = False
        self._depth = 0

    def begin(self) -> None:
        self._is_open = True

    def takes(self, lexeme: str) -> bool:
        """
        Report whether a lexeme belongs to the value.
        """
        if not self._is_open:
            return False
        self._depth += (lexeme in "{[") - (lexeme in "}]")
        self._is_open = self._depth > 0
        return True


class JsonMarks(LazyMarks):
    """
    The positions of all values of one document, by the id of the container and the step in it.

    The position of an object's member is that of its name, as in YAML.

    Args:
        value: The decoded document.
        start: The offset of the document in the text.
        repeats: How many times more than once a name occurs in an object, by the object's id and
            the name. The positions are those of the last one.
    """

    def __init__(
        self,
        text: TextPositions,
        value: JSON,
        start: int,
        repeats: Mapping[tuple[int, str], int] = MappingProxyType({}),
    ) -> None:
        super().__init__(text)
        self._value = value
        self._start = start
        self._repeats = repeats

    def _found(self) -> Iterator[tuple[Place, int]]:
        value = self._value
        if not isinstance(value, (dict, list)):
            return
        walk: list[_OpenValue] = []
        repeats, skipped = dict(self._repeats), _Skipped()
        for match in _TOKEN.finditer(self._text.text, self._start):
            lexeme = match[0]
            if skipped.takes(lexeme):
                continue
            if not walk:
                walk.append(_OpenValue(value))
            elif lexeme in "}]":
                walk.pop()
                if not walk:
                    return
            elif isinstance(walk[-1].value, dict) and walk[-1].key is None:
                place = (id(walk[-1].value), str(json.loads(lexeme)))
                if repeats.get(place):
                    repeats[place] -= 1
                    skipped.begin()
                    continue
                walk[-1].key = place[1]
                yield place, match.start()
            else:
                entered = self._step_in(walk)
                if isinstance(entered[1], int):
                    yield entered, match.start()

    def _step_in(self, walk: list[_OpenValue]) -> Place:
        # Advance to the next value of the innermost container; enter it if it is a container.
        holder = walk[-1]
        step: Step
        if isinstance(holder.value, dict):
            step, holder.key = holder.key or "", None
            inner = holder.value[step]
        else:
            step, holder.index = holder.index, holder.index + 1
            inner = holder.value[step]
        if isinstance(inner, (dict, list)):
            walk.append(_OpenValue(inner))
        return id(holder.value), step
