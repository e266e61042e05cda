"""
Write JSON values as YAML that kubectl reads back as the same values.

A string that would be read as another type without quotes (``yes``, ``1e3``, ``0o17``) is quoted.
The events for the emitter are made in a loop, so that deep nesting cannot exhaust the stack.
"""

import io
import itertools
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

import yaml

from espalier.cli.input.yaml_dialect import resolve
from espalier.cli.result import Result, Stream, document_of
from espalier.golang.printing import go_json
from espalier.paths import JSON

_EMITTER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:$|[Tt \t])")
_MERGE_KEY = "<<"
_STRING_TAG = "tag:yaml.org,2002:str"
# No line is broken, so that a long text can still be searched for.
_LINE_WIDTH = 1_000_000
_PIECE_CHARACTERS = 8_192
_NONE: Final[Any] = object()


def write_yaml(values: Iterable[JSON]) -> str:
    """
    Return documents as YAML in the dialect of kubectl; keys keep their order.
    """
    events = _stream(values)
    text = yaml.emit(events, Dumper=_EMITTER, allow_unicode=True, width=_LINE_WIDTH)
    assert isinstance(text, str)  # noqa: S101 - it is bytes only where an encoding is asked for
    return text


def write_result_as_yaml(result: Result) -> Iterator[str]:
    """
    Yield the pieces of a result's document.
    """
    pieces = io.StringIO()
    emitter = _EMITTER(pieces, allow_unicode=True, width=_LINE_WIDTH)
    try:
        for event in _stream([document_of(result)]):
            emitter.emit(event)
            if pieces.tell() > _PIECE_CHARACTERS:
                yield pieces.getvalue()
                pieces.seek(0)
                pieces.truncate()
    finally:
        emitter.dispose()
    yield pieces.getvalue()


def _stream(values: "Iterable[JSON | dict[str, JSON | Stream]]") -> Iterator[yaml.Event]:
    yield yaml.StreamStartEvent()
    for number, value in enumerate(values):
        yield yaml.DocumentStartEvent(explicit=number > 0)
        yield from _value(value)
        yield yaml.DocumentEndEvent(explicit=False)
    yield yaml.StreamEndEvent()


def _value(root: "JSON | dict[str, JSON | Stream]") -> Iterator[yaml.Event]:
    waiting: list[Any] = [root]
    while waiting:
        value = waiting.pop()
        match value:
            case yaml.Event():
                yield value
            case dict():
                is_empty = not value
                yield yaml.MappingStartEvent(None, None, implicit=True, flow_style=is_empty)
                waiting.append(yaml.MappingEndEvent())
                for key, item in reversed(value.items()):
                    waiting += (item, _string(key))
            case list():
                is_empty = not value
                yield yaml.SequenceStartEvent(None, None, implicit=True, flow_style=is_empty)
                waiting.append(yaml.SequenceEndEvent())
                waiting += reversed(value)
            case Stream():
                yield from _members(value)
            case str():
                yield _string(value)
            case _:
                yield yaml.ScalarEvent(None, None, (True, False), go_json(value))


def _members(values: Stream) -> Iterator[yaml.Event]:
    first = next(values.values, _NONE)
    yield yaml.SequenceStartEvent(None, None, implicit=True, flow_style=first is _NONE)
    if first is not _NONE:
        for value in itertools.chain([first], values):
            yield from _value(value)
    yield yaml.SequenceEndEvent()


def _string(text: str) -> yaml.Event:
    # Go reads a lone surrogate as U+FFFD.
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if "\n" in text and _is_block(text):
        return yaml.ScalarEvent(None, _STRING_TAG, (True, True), text, style="|")
    if text == _MERGE_KEY or not _reads_as_itself(text):
        return yaml.ScalarEvent(None, _STRING_TAG, (False, True), text, style='"')
    return yaml.ScalarEvent(None, _STRING_TAG, (True, True), text)


def _reads_as_itself(text: str) -> bool:
    if _DATE.match(text):
        # kubectl reads a date as a string, but other readers read it as a time.
        return False
    try:
        value = resolve(text, tag=None, plain=True)
    except ValueError:
        return False
    return isinstance(value, str)


def _is_block(text: str) -> bool:
    # The emitter would quote any other text in a literal block, or lose a character of it.
    lines = text.split("\n")
    return (
        bool(lines[0])
        and not lines[0][0].isspace()
        and all(line.isprintable() and line == line.rstrip() for line in lines)
    )
