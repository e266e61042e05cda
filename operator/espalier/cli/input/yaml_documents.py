"""
Build YAML documents from parser events, with the line and column of every value.

Documents are built in a loop, not by recursion, so that deep nesting cannot exhaust the stack. The
values that aliases stand for are counted and bounded. A key that occurs twice in one map is an
error, or it is recorded: kubectl would keep the last one silently, which hides a mistake.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import yaml

from espalier.cli.input.yaml_dialect import key_of, resolve
from espalier.paths import JSON, Path, Step

MAX_DEPTH = 256
"""The deepest nesting that is read; the deepest published CRDs have about 60 levels."""

MAX_ALIASED_VALUES = 1_000_000
"""The most values that all aliases of one document together may stand for."""

# PyYAML's C parser is ten times faster; it is missing only where PyYAML was built without libyaml.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Mark(NamedTuple):
    """
    A position in a text; lines and columns begin at 1.
    """

    line: int
    column: int


class _Mark(Protocol):
    # The C parser and the Python parser have different classes for this.
    line: int
    column: int


class UnreadableDocumentError(ValueError):
    """
    A document cannot be read. ``files`` turns this into ``SourceError``.
    """

    def __init__(self, detail: str, mark: Mark | None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.mark = mark


class Duplicate(NamedTuple):
    """
    A key that its map already had, and its position; the map holds the value of the last one.
    """

    path: Path
    mark: Mark | None


class BuiltDocument(NamedTuple):
    """
    One document, and the positions of its values by the id of the container and the step in it.
    """

    value: JSON
    marks: dict[tuple[int, Step], Mark]
    root: Mark
    duplicates: tuple[Duplicate, ...] = ()


def build_documents(
    data: bytes | str, *, keeps_duplicates: bool = False
) -> Iterator[BuiltDocument]:
    """
    Yield every document of a YAML stream; the value of an empty one is None.

    Args:
        keeps_duplicates: Record a key that occurs twice in one map, instead of raising.

    Raises:
        UnreadableDocumentError: It is not YAML, a key occurs twice, or it is too deep or too large.
    """
    builder = _Builder(keeps_duplicates=keeps_duplicates)
    try:
        for event in yaml.parse(data, Loader=_LOADER):
            # Nearly all events are nodes.
            if isinstance(event, yaml.NodeEvent):
                builder.take(event)
            elif isinstance(event, yaml.DocumentStartEvent):
                builder = _Builder(keeps_duplicates=keeps_duplicates)
            elif isinstance(event, yaml.DocumentEndEvent):
                yield builder.built()
            else:
                builder.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise UnreadableDocumentError(
            f"not YAML: {error.problem or error.context}", None if mark is None else _mark(mark)
        ) from error
    except yaml.YAMLError as error:
        raise UnreadableDocumentError(f"not YAML: {str(error).splitlines()[0]}", None) from error
    except UnicodeDecodeError as error:
        raise UnreadableDocumentError(f"not YAML: {error}", None) from error


@dataclass(slots=True)
class _OpenNode:
    """
    A container that is not closed yet.
    """

    value: dict[str, JSON] | list[JSON]
    anchor: str | None
    mark: Mark
    size: int = 1
    key: str | None = None
    key_mark: Mark | None = None
    merging: bool = False
    explicit: set[str] = field(default_factory=set)


class _Anchored(NamedTuple):
    value: JSON
    size: int


class _Builder:
    """
    Build one document from its events.
    """

    def __init__(self, *, keeps_duplicates: bool) -> None:
        self.root: JSON = None
        self.root_mark = Mark(1, 1)
        self._keeps_duplicates = keeps_duplicates
        self._duplicates: list[Duplicate] = []
        # A replaced container must live as long as its id stands in the marks.
        self._replaced: list[JSON] = []
        self.marks: dict[tuple[int, Step], Mark] = {}
        self._open: list[_OpenNode] = []
        self._anchors: dict[str, _Anchored | None] = {}
        self._aliased = 0

    def built(self) -> BuiltDocument:
        """
        Return the document, after its last event.
        """
        return BuiltDocument(self.root, self.marks, self.root_mark, tuple(self._duplicates))

    def take(self, event: yaml.Event) -> None:
        """
        Add the next event of the document.
        """
        # Every event of the parser has a mark; only the type stubs say that it may have none.
        mark = Mark(1, 1) if event.start_mark is None else _mark(event.start_mark)
        match event:
            case yaml.ScalarEvent():
                self._take_scalar(event, mark)
            case yaml.MappingStartEvent():
                self._begin({}, event.anchor, mark)
            case yaml.SequenceStartEvent():
                self._begin([], event.anchor, mark)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                done = self._open.pop()
                self._remember(done.anchor, done.value, done.size)
                self._place(done.value, done.mark, done.size)
            case yaml.AliasEvent():
                self._take_alias(event.anchor or "", mark)
            case _:
                # The start and the end of the stream carry no value.
                pass

    def _begin(self, value: dict[str, JSON] | list[JSON], anchor: str | None, mark: Mark) -> None:
        if len(self._open) >= MAX_DEPTH:
            raise UnreadableDocumentError(f"nested deeper than {MAX_DEPTH} levels", mark)
        if self._awaits_key():
            raise UnreadableDocumentError("a key must be a string, a number or a boolean", mark)
        if anchor is not None:
            # No value yet: an alias to a container that is still open would contain itself.
            self._anchors[anchor] = None
        self._open.append(_OpenNode(value, anchor, mark))

    def _take_scalar(self, event: yaml.ScalarEvent, mark: Mark) -> None:
        if self._awaits_key() and event.value == "<<" and event.implicit[0]:
            self._open[-1].merging = True
            self._open[-1].key = "<<"
            return
        try:
            value = resolve(event.value, tag=event.tag, plain=event.implicit[0])
        except ValueError as error:
            raise UnreadableDocumentError(str(error), mark) from error
        self._remember(event.anchor, value, 1)
        self._place(value, mark, 1)

    def _take_alias(self, anchor: str, mark: Mark) -> None:
        if anchor not in self._anchors:
            raise UnreadableDocumentError(f"not YAML: unknown anchor {anchor!r}", mark)
        known = self._anchors[anchor]
        if known is None:
            raise UnreadableDocumentError(f"not YAML: anchor {anchor!r} contains itself", mark)
        self._aliased += known.size
        if self._aliased > MAX_ALIASED_VALUES:
            raise UnreadableDocumentError(
                f"aliases stand for more than {MAX_ALIASED_VALUES:,} values", mark
            )
        self._place(known.value, mark, known.size)

    def _awaits_key(self) -> bool:
        return bool(self._open) and self._open[-1].key is None and not self._in_list()

    def _in_list(self) -> bool:
        return isinstance(self._open[-1].value, list)

    def _remember(self, anchor: str | None, value: JSON, size: int) -> None:
        if anchor is not None:
            self._anchors[anchor] = _Anchored(value, size)

    def _place(self, value: JSON, mark: Mark, size: int) -> None:
        if not self._open:
            self.root, self.root_mark = value, mark
            return
        holder = self._open[-1]
        holder.size += size
        if isinstance(holder.value, list):
            self.marks[id(holder.value), len(holder.value)] = mark
            holder.value.append(value)
        elif holder.key is None:
            self._take_key(holder, value, mark)
        elif holder.merging:
            self._merge(holder.value, value, mark)
            holder.key, holder.merging = None, False
        else:
            self.marks[id(holder.value), holder.key] = holder.key_mark or mark
            holder.value[holder.key] = value
            holder.key = None

    def _take_key(self, holder: _OpenNode, value: JSON, mark: Mark) -> None:
        try:
            key = key_of(value)
        except ValueError as error:
            raise UnreadableDocumentError(str(error), mark) from error
        if key in holder.explicit:
            self._take_duplicate(holder, key, mark)
        holder.explicit.add(key)
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

    def _merge(self, into: dict[str, JSON], value: JSON, mark: Mark) -> None:
        # Source: sigs.k8s.io/yaml, goyaml.v2/decode.go, merge. Of several maps the first wins.
        for source in reversed(value) if isinstance(value, list) else [value]:
            if not isinstance(source, dict):
                raise UnreadableDocumentError(
                    "map merge requires map or sequence of maps as the value", mark
                )
            for key, merged in source.items():
                into[key] = merged
                self.marks[id(into), key] = mark


def _mark(mark: _Mark) -> Mark:
    return Mark(mark.line + 1, mark.column + 1)
