"""
Change values in a YAML text and leave everything else as it is written.

A round trip through a document model would lay out the whole file anew. Here only the lines of what
changes are touched: removed fields lose their lines, new fields get lines below the last field of
their map, and a changed value is replaced in its place. Comments on lines of their own, quotes,
indentation and the order of fields stay. The caller gets no text unless it reads back as the values
that were asked for.
"""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import yaml

from espalier.cli.input.built_document import UnreadableDocumentError
from espalier.cli.input.yaml_dialect import key_of, resolve
from espalier.cli.input.yaml_documents import build_documents
from espalier.cli.output.yaml_writer import write_yaml
from espalier.paths import JSON
from espalier.schema.values import equal_json

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Edit(NamedTuple):
    start: int
    end: int
    text: str


class _UneditableError(Exception):
    """
    A place cannot be changed without writing the document anew.
    """


def edited_yaml(text: str, changes: Sequence[tuple[int, JSON, JSON]]) -> str | None:
    """
    Return a YAML text with changed documents.

    Args:
        text: The whole file.
        changes: The number of each document, from 1, with its old and its new value.

    Returns:
        The text; None if a change cannot be made without writing its document anew.
    """
    try:
        roots = list(yaml.compose_all(text, Loader=_LOADER))
        editor = _Editor(text)
        for number, old, new in changes:
            editor.change(roots[number - 1], old, new)
        edited = editor.edited()
        documents = list(build_documents(edited))
    except (_UneditableError, UnreadableDocumentError, yaml.YAMLError, IndexError):
        return None
    if len(documents) != len(roots):
        return None
    kept = all(equal_json(documents[number - 1].value, new) for number, _, new in changes)
    return edited if kept else None


class _Editor:
    """
    Collect the edits of a text.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0]
        for line in text.split("\n")[:-1]:
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._edits: list[_Edit] = []

    def edited(self) -> str:
        """
        Return the text with all edits.
        """
        pieces, position = [], 0
        for edit in sorted(self._edits):
            if edit.start < position:
                raise _UneditableError
            pieces += [self._text[position : edit.start], edit.text]
            position = edit.end
        return "".join([*pieces, self._text[position:]])

    def change(self, node: Any, old: JSON, new: JSON) -> None:
        """
        Change a value that a node holds.
        """
        if equal_json(old, new):
            return
        if isinstance(old, dict) and isinstance(new, dict) and isinstance(node, yaml.MappingNode):
            self._map(node, old, new)
        elif (
            isinstance(old, list)
            and isinstance(new, list)
            and isinstance(node, yaml.SequenceNode)
            and len(old) == len(new)
        ):
            for item, before, after in zip(node.value, old, new, strict=True):
                self.change(item, before, after)
        else:
            self._replace(node, new)

    def _map(self, node: Any, old: dict[str, JSON], new: dict[str, JSON]) -> None:
        entries = {_key(key): (key, value) for key, value in node.value}
        if entries.keys() != old.keys():
            # Merge keys bring in fields that have no place here.
            raise _UneditableError
        removed = [name for name in old if name not in new]
        if len(removed) == len(old):
            self._replace(node, new)
            return
        for name, (_, value) in entries.items():
            if name in new:
                self.change(value, old[name], new[name])
        added = {name: value for name, value in new.items() if name not in old}
        if node.flow_style:
            self._flow(node, removed, added)
        else:
            self._block(node, removed, added)

    def _flow(self, node: Any, removed: Sequence[str], added: dict[str, JSON]) -> None:
        names = [_key(key) for key, _ in node.value]
        kept = [n for n, name in enumerate(names) if name not in removed]
        for n in (n for n, name in enumerate(names) if name in removed):
            if n > kept[0]:
                # With the comma before it.
                before = self._at(node.value[n - 1][1].end_mark)
                self._edits.append(_Edit(before, self._at(node.value[n][1].end_mark), ""))
            else:
                after = self._at(node.value[n + 1][0].start_mark)
                self._edits.append(_Edit(self._at(node.value[n][0].start_mark), after, ""))
        if added:
            text = "".join(f", {_flow(name)}: {_flow(value)}" for name, value in added.items())
            end = self._at(node.value[-1][1].end_mark)
            self._edits.append(_Edit(end, end, text))

    def _block(self, node: Any, removed: Sequence[str], added: dict[str, JSON]) -> None:
        first = self._removed_first_fields(node, removed)
        for key, value in node.value[first:]:
            if _key(key) in removed:
                start = self._at(key.start_mark)
                line = self._starts[key.start_mark.line]
                self._edits.append(_Edit(line, self._line_end(value, start), ""))
        if added:
            self._append(node, added)

    def _removed_first_fields(self, node: Any, removed: Sequence[str]) -> int:
        """
        Remove the first fields of a list's item: the dash stays for the next one.

        Returns:
            How many fields were removed.
        """
        key, _ = node.value[0]
        start = self._at(key.start_mark)
        if not self._text[self._starts[key.start_mark.line] : start].strip(" "):
            return 0
        kept = next(n for n, (key, _) in enumerate(node.value) if _key(key) not in removed)
        if kept == 0:
            return 0
        end = self._line_end(node.value[kept - 1][1], start)
        following = self._at(node.value[kept][0].start_mark)
        if self._text[end:following].strip():
            # With comments between, the dash gets a line of its own.
            start, following = len(self._text[:start].rstrip(" ")), end - 1
        self._edits.append(_Edit(start, following, ""))
        return kept

    def _append(self, node: Any, added: dict[str, JSON]) -> None:
        key, value = node.value[-1]
        end = self._line_end(value, self._at(key.start_mark))
        indent = " " * node.start_mark.column
        lines = write_yaml([added]).splitlines(keepends=True)
        text = "".join(f"{indent}{line}" for line in lines)
        if end == len(self._text) and not self._text.endswith("\n"):
            text = "\n" + text.removesuffix("\n")
        self._edits.append(_Edit(end, end, text))

    def _replace(self, node: Any, new: JSON) -> None:
        start, end = self._at(node.start_mark), self._end(node)
        if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
            raise _UneditableError
        text = _flow(new)
        if start == end:
            # An empty value stands directly behind the colon or the dash.
            text = f" {text}"
        elif not getattr(node, "flow_style", True):
            # A block below its key; the new value fits behind the colon.
            before = self._text[:start].rstrip(" \n")
            if before.endswith((":", "-")):
                start, text = len(before), f" {text}"
        if end > start and self._text[end - 1] == "\n":
            # A literal block at the end of what is replaced ends with its line.
            end -= 1
        self._edits.append(_Edit(start, end, text))

    def _end(self, node: Any) -> int:
        # Blocks end, for the parser, where the next token begins, behind comments.
        while not isinstance(node, yaml.ScalarNode) and not node.flow_style and node.value:
            last = node.value[-1]
            node = last[1] if isinstance(last, tuple) else last
        return self._at(node.end_mark)

    def _line_end(self, node: Any, start: int) -> int:
        end = max(self._end(node), start)
        if end and self._text[end - 1 : end] == "\n":
            return end
        found = self._text.find("\n", end)
        return len(self._text) if found < 0 else found + 1

    def _at(self, mark: Any) -> int:
        return int(self._starts[mark.line] + mark.column)


def _key(node: Any) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise _UneditableError
    is_plain = node.style is None
    return key_of(resolve(node.value, tag=None, plain=is_plain))


def _flow(value: JSON) -> str:
    text = json.dumps(value, ensure_ascii=False)
    if isinstance(value, str) and "\n" not in value:
        written = write_yaml([value]).removesuffix("\n").removesuffix("\n...")
        return written if _is_inline(written) else text
    return text


def _is_inline(text: str) -> bool:
    return not any(char in text for char in "\n,[]{}#:")
