"""
Build YAML documents from the events of a parser, with the line and column of every value.

They are built in a loop, not by recursion, so that deep nesting cannot exhaust the stack. The
values that aliases stand for are counted and bounded.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import yaml

from espalier.cli.input.built_document import (
    MAX_ALIASED_VALUES,
    MAX_DEPTH,
    BuiltDocument,
    Duplicate,
    UnreadableDocumentError,
)
from espalier.cli.input.positions import Mark, Place
from espalier.cli.input.yaml_dialect import is_plain_string, key_of, resolve
from espalier.paths import JSON

# PyYAML's C parser is ten times faster; it is missing only where PyYAML was built without libyaml.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Mark(Protocol):
    # The C parser and the Python parser have different classes for this.
    line: int
    column: int


class YamlMarks(Mapping[Place, Mark]):
    """
    The parser's marks of a document; few of them are ever asked for.
    """

    def __init__(self, marks: Mapping[Place, _Mark]) -> None:
        self._marks = marks

    def __getitem__(self, place: Place) -> Mark:
        return _mark(self._marks[place])

    def __iter__(self) -> Iterator[Place]:
        return iter(self._marks)

    def __len__(self) -> int:
        return len(self._marks)


def parse_documents(
    data: bytes | str, *, keeps_duplicates: bool = False
) -> Iterator[BuiltDocument]:
    """
    Yield every document of a YAML stream, as ``build_documents``, from the parser's events.
    """
    try:
        yield from _built(data, keeps_duplicates=keeps_duplicates)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise UnreadableDocumentError(
            f"not YAML: {error.problem or error.context}", None if mark is None else _mark(mark)
        ) from error
    except yaml.YAMLError as error:
        raise UnreadableDocumentError(f"not YAML: {str(error).splitlines()[0]}", None) from error
    except UnicodeDecodeError as error:
        raise UnreadableDocumentError(f"not YAML: {error}", None) from error


def _built(data: bytes | str, *, keeps_duplicates: bool) -> Iterator[BuiltDocument]:
    builder = _Builder(keeps_duplicates=keeps_duplicates)
    parser = _LOADER(data)
    try:
        next_event = parser.get_event
        while (event := next_event()) is not None:
            # Nearly all events are scalars.
            if event.__class__ is yaml.ScalarEvent:
                builder.take_scalar(event)
            elif event.__class__ is yaml.DocumentStartEvent:
                builder = _Builder(keeps_duplicates=keeps_duplicates)
            elif event.__class__ is yaml.DocumentEndEvent:
                yield builder.built()
            elif event.__class__ is yaml.StreamEndEvent:
                return
            else:
                builder.take(event)
    finally:
        parser.dispose()


@dataclass(slots=True)
class _OpenNode:
    """
    A container that is not closed yet.

    Attributes:
        merged: The keys that a merge key has brought in; they may be written again.
    """

    value: dict[str, JSON] | list[JSON]
    anchor: str | None
    mark: _Mark
    is_list: bool
    size: int = 1
    key: str | None = None
    key_mark: _Mark | None = None
    merging: bool = False
    merged: set[str] = field(default_factory=set)


class _Anchored(NamedTuple):
    value: JSON
    size: int


class _Builder:
    """
    Build one document from its events.
    """

    def __init__(self, *, keeps_duplicates: bool) -> None:
        self.root: JSON = None
        self._root_mark: _Mark | None = None
        self._keeps_duplicates = keeps_duplicates
        self._duplicates: list[Duplicate] = []
        # A replaced container must live as long as its id stands in the marks.
        self._replaced: list[JSON] = []
        self._marks: dict[Place, _Mark] = {}
        self._open: list[_OpenNode] = []
        self._anchors: dict[str, _Anchored | None] = {}
        self._aliased = 0

    def built(self) -> BuiltDocument:
        """
        Return the document, after its last event.
        """
        root_mark = Mark(1, 1) if self._root_mark is None else _mark(self._root_mark)
        marks = YamlMarks(self._marks)
        return BuiltDocument(self.root, marks, root_mark, tuple(self._duplicates))

    def take(self, event: yaml.Event) -> None:
        """
        Add the next event of the document.
        """
        match event:
            case yaml.MappingStartEvent():
                self._begin({}, event)
            case yaml.SequenceStartEvent():
                self._begin([], event)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                done = self._open.pop()
                self._remember(done.anchor, done.value, done.size)
                self._place(done.value, done.mark, done.size)
            case yaml.AliasEvent():
                self._take_alias(event.anchor or "", event.start_mark)
            case _:
                # The start and the end of the stream carry no value.
                pass

    def take_scalar(self, event: Any) -> None:
        """
        Add a scalar.
        """
        text, mark = event.value, event.start_mark
        is_plain = event.implicit[0]
        holder = self._open[-1] if self._open else None
        is_key = holder is not None and holder.key is None and not holder.is_list
        value: JSON
        if event.tag is None and (not is_plain or is_plain_string(text)):
            if holder is not None and is_key and is_plain and text == "<<":
                holder.merging = True
                holder.key = "<<"
                return
            value = text
        else:
            try:
                value = resolve(text, tag=event.tag, plain=is_plain)
            except ValueError as error:
                raise UnreadableDocumentError(str(error), _mark(mark)) from error
        if event.anchor is not None:
            self._remember(event.anchor, value, 1)
        self._place(value, mark, 1)

    def _begin(self, value: dict[str, JSON] | list[JSON], event: Any) -> None:
        mark, anchor = event.start_mark, event.anchor
        if len(self._open) >= MAX_DEPTH:
            raise UnreadableDocumentError(f"nested deeper than {MAX_DEPTH} levels", _mark(mark))
        holder = self._open[-1] if self._open else None
        if holder is not None and holder.key is None and not holder.is_list:
            text = "a key must be a string, a number or a boolean"
            raise UnreadableDocumentError(text, _mark(mark))
        if anchor is not None:
            # No value yet: an alias to a container that is still open would contain itself.
            self._anchors[anchor] = None
        self._open.append(_OpenNode(value, anchor, mark, isinstance(value, list)))

    def _take_alias(self, anchor: str, mark: Any) -> None:
        if anchor not in self._anchors:
            raise UnreadableDocumentError(f"not YAML: unknown anchor {anchor!r}", _mark(mark))
        known = self._anchors[anchor]
        if known is None:
            raise UnreadableDocumentError(
                f"not YAML: anchor {anchor!r} contains itself", _mark(mark)
            )
        self._aliased += known.size
        if self._aliased > MAX_ALIASED_VALUES:
            raise UnreadableDocumentError(
                f"aliases stand for more than {MAX_ALIASED_VALUES:,} values", _mark(mark)
            )
        self._place(known.value, mark, known.size)

    def _remember(self, anchor: str | None, value: JSON, size: int) -> None:
        if anchor is not None:
            self._anchors[anchor] = _Anchored(value, size)

    def _place(self, value: JSON, mark: _Mark, size: int) -> None:
        if not self._open:
            self.root, self._root_mark = value, mark
            return
        holder = self._open[-1]
        holder.size += size
        container = holder.value
        if isinstance(container, list):
            self._marks[id(container), len(container)] = mark
            container.append(value)
        elif holder.key is None:
            self._take_key(holder, value, mark)
        elif holder.merging:
            self._merge(holder, value, mark)
            holder.key, holder.merging = None, False
        else:
            self._marks[id(container), holder.key] = holder.key_mark or mark
            container[holder.key] = value
            holder.key = None

    def _take_key(self, holder: _OpenNode, value: JSON, mark: _Mark) -> None:
        if value.__class__ is str:
            key = str(value)
        else:
            try:
                key = key_of(value)
            except ValueError as error:
                raise UnreadableDocumentError(str(error), _mark(mark)) from error
        if key in holder.value:
            if key in holder.merged:
                holder.merged.discard(key)
            else:
                self._take_duplicate(holder, key, _mark(mark))
        holder.key, holder.key_mark = key, mark

    def _take_duplicate(self, holder: _OpenNode, key: str, mark: Mark) -> None:
        if not self._keeps_duplicates:
            raise UnreadableDocumentError(f"the key {key!r} occurs twice in one map", mark)
        above = (
            len(node.value) if isinstance(node.value, list) else node.key or ""
            for node in self._open[:-1]
        )
        self._duplicates.append(Duplicate((*above, key), mark))
        if isinstance(holder.value, dict):
            self._replaced.append(holder.value[key])

    def _merge(self, holder: _OpenNode, value: JSON, mark: _Mark) -> None:
        # Source: sigs.k8s.io/yaml, goyaml.v2/decode.go, merge. Of several maps the first wins.
        into = holder.value
        for source in reversed(value) if isinstance(value, list) else [value]:
            if not isinstance(source, dict) or not isinstance(into, dict):
                raise UnreadableDocumentError(
                    "map merge requires map or sequence of maps as the value", _mark(mark)
                )
            for key, merged in source.items():
                if key not in into:
                    holder.merged.add(key)
                into[key] = merged
                self._marks[id(into), key] = mark


def _mark(mark: _Mark) -> Mark:
    return Mark(mark.line + 1, mark.column + 1)
