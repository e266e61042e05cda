"""
Read files, folders and standard input as JSON values with positions.

A text that begins with a brace or bracket is read as JSON if it is valid JSON. Everything else is
read as YAML, in kubectl's dialect.
"""

import glob
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path as FilePath

from msgspec import Struct, field

from espalier.cli.input.built_document import MAX_DEPTH, Duplicate, UnreadableDocumentError
from espalier.cli.input.json_positions import JsonMarks
from espalier.cli.input.positions import Mark, Place, TextPositions
from espalier.cli.input.yaml_dialect import bounded
from espalier.cli.input.yaml_documents import build_documents
from espalier.cli.result import Subject
from espalier.errors import SourceError
from espalier.paths import JSON, Path, Step

_SUFFIXES = (".yaml", ".yml", ".json")
_HERE = f"{os.curdir}{os.sep}"
_DIGITS_OF_64_BITS = 20
_NO_SPACE = re.compile(r"\S")
_ESCAPE = re.compile(
    r"""\\(?: u[dD][89abAB][0-9a-fA-F]{2} \\u[dD][c-fC-F][0-9a-fA-F]{2}
    | (?P<half> u[dD][89a-fA-F][0-9a-fA-F]{2} )
    | . )""",
    re.DOTALL | re.VERBOSE,
)


class Document(Struct, frozen=True, kw_only=True):
    """
    One document of a source, or one item of a list in it.

    Attributes:
        source: The file as the user named it; ``-`` for standard input.
        number: The number of the document in the source, from 1.
        root: The position of its first character; None if it is not known.
        marks: The positions of its values, by the id of the container and the step in it.
        is_json: Whether it was written as JSON, not as YAML.
        duplicates: The keys that occur again in the same map; empty unless they are to be kept.
    """

    source: str
    number: int
    value: JSON
    root: Mark | None = None
    marks: Mapping[Place, Mark] = field(default_factory=dict)
    is_json: bool = False
    duplicates: tuple[Duplicate, ...] = ()

    def mark(self, path: Path) -> Mark | None:
        """
        Return the position of the value at a path, or of its nearest parent that exists.
        """
        found, value = self.root, self.value
        for step in path:
            found = self.marks.get((id(value), step), found)
            match value, step:
                case dict(), str() if step in value:
                    value = value[step]
                case list(), int() if step < len(value):
                    value = value[step]
                case _:
                    break
        return found

    def where(self, path: Path = ()) -> str:
        """
        Return the position of a path as text: ``crd.yaml:12:5``, or file and document number.
        """
        return self.subject("", path).where

    def subject(self, name: str, path: Path = ()) -> Subject:
        """
        Return the subject of a finding at a path.

        Args:
            name: The name of the object in the document.
        """
        mark = self.mark(path)
        return Subject(
            name=name,
            source=self.source,
            document=self.number,
            line=mark.line if mark else None,
            column=mark.column if mark else None,
        )


def read_documents(source: str, *, keeps_duplicates: bool = False) -> Iterator[Document]:
    """
    Yield the documents of a file or of standard input (``-``), without empty ones.

    A list, such as ``List`` or ``WidgetList``, is replaced by its items.

    Args:
        keeps_duplicates: Keep the last of several equal keys of a map, as API servers do, and list
            them in the document, instead of raising.

    Raises:
        SourceError: The file cannot be read, or is neither YAML nor JSON.
    """
    for document in read_whole(source, keeps_duplicates=keeps_duplicates):
        yield from items_of(document)


def read_whole(source: str, *, keeps_duplicates: bool = False) -> list[Document]:
    """
    Read the documents of a file or of standard input (``-``); lists stay lists.

    Raises:
        SourceError: The file cannot be read, or is neither YAML nor JSON.
    """
    data = _read(source)
    try:
        return list(_documents(source, data, keeps_duplicates=keeps_duplicates))
    except UnreadableDocumentError as error:
        line = None if error.mark is None else error.mark.line
        advice = "; is it a template? render it first" if b"{{" in data else ""
        raise SourceError(source, f"{error.detail}{advice}", line) from error


def expand(sources: Sequence[str]) -> Iterator[str]:
    """
    Replace each folder by the YAML and JSON files below it, and each pattern by its matches.

    The files of one folder or pattern are sorted by name. Below a folder, names that begin with two
    dots are left out: a kubelet keeps the files of a mounted ConfigMap there, and links to them.

    Raises:
        SourceError: A folder has no such file, or a pattern matches none.
    """
    for source in sources:
        if source == "-" or not FilePath(source).is_dir():
            yield from _matching(source)
            continue
        files = sorted(_manifests_below(source), key=lambda file: file.split(os.sep))  # noqa: PTH206
        if not files:
            raise SourceError(source, "the folder has no .yaml, .yml or .json file")
        yield from files


def _manifests_below(folder: str) -> Iterator[str]:
    # A folder may have many files, so these are texts, not paths.
    for above, folders, names in os.walk(str(FilePath(folder))):
        folders[:] = [name for name in folders if not name.startswith("..")]
        for name in names:
            file = os.path.join(above, name)  # noqa: PTH118
            is_named_so = name.endswith(_SUFFIXES) and name not in _SUFFIXES
            if is_named_so and not name.startswith("..") and os.path.isfile(file):  # noqa: PTH113
                yield file.removeprefix(_HERE)


def _matching(source: str) -> Sequence[str]:
    # A file may have brackets in its name; a file that exists is no pattern.
    if source == "-" or not glob.has_magic(source) or FilePath(source).exists():
        return [source]
    files = sorted(
        name
        for name in glob.iglob(source, recursive=True)  # noqa: PTH207 - a pattern may be absolute
        if FilePath(name).is_file()
    )
    if not files:
        raise SourceError(source, "the pattern matches no file")
    return files


def _read(source: str) -> bytes:
    try:
        if source == "-":
            return sys.stdin.buffer.read()
        with open(source, "rb") as file:  # noqa: PTH123 - there may be many
            return file.read()
    except OSError as error:
        raise SourceError(source, f"cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise SourceError(source, f"cannot be read: {error}") from error


def _documents(source: str, data: bytes, *, keeps_duplicates: bool) -> Iterator[Document]:
    objects = _JsonObjects(keeps_duplicates=keeps_duplicates)
    values = _json_values(data, objects) if data.lstrip().startswith((b"{", b"[")) else None
    if values is not None:
        text = TextPositions(_text_of(data))
        for number, (value, start) in enumerate(values, 1):
            marks = JsonMarks(text, value, start, objects.repeats)
            yield Document(
                source=source,
                number=number,
                value=value,
                root=text.mark(start),
                marks=marks,
                is_json=True,
                duplicates=tuple(objects.duplicates_in(value, marks)),
            )
        return
    for number, built in enumerate(build_documents(data, keeps_duplicates=keeps_duplicates), 1):
        if built.value is not None:
            yield Document(
                source=source,
                number=number,
                value=built.value,
                root=built.root,
                marks=built.marks,
                duplicates=built.duplicates,
            )


def _json_values(data: bytes, objects: "_JsonObjects") -> list[tuple[JSON, int]] | None:
    # Values with their offsets; None if this is no JSON. YAML in flow style begins with a brace
    # too, and the YAML reader gives the line of an error.
    decoder = json.JSONDecoder(
        object_pairs_hook=objects.make, parse_int=_integer, parse_constant=_refuse_constant
    )
    values: list[tuple[JSON, int]] = []
    try:
        text = _text_of(data)
        position = _skip_space(text, 0)
        while position < len(text):
            value, end = decoder.raw_decode(text, position)
            values.append((value, position))
            position = _skip_space(text, end)
    except (json.JSONDecodeError, UnicodeDecodeError):
        return None
    except RecursionError as error:
        raise UnreadableDocumentError(f"nested deeper than {MAX_DEPTH} levels", None) from error
    if any(_is_too_deep(value) for value, _ in values):
        raise UnreadableDocumentError(f"nested deeper than {MAX_DEPTH} levels", None)
    return values


def _text_of(data: bytes) -> str:
    # As Go's decoder, which reads half a pair of surrogates as U+FFFD. Offsets stay as they are.
    text = data.decode()
    if r"\ud" not in text and r"\uD" not in text:
        return text
    return _ESCAPE.sub(lambda match: r"\uFFFD" if match["half"] else match[0], text)


def _skip_space(text: str, position: int) -> int:
    found = _NO_SPACE.search(text, position)
    return len(text) if found is None else found.start()


class _JsonObjects:
    """
    Make the objects of a JSON text, and find the names that occur again in one of them.
    """

    def __init__(self, *, keeps_duplicates: bool) -> None:
        self._keeps_duplicates = keeps_duplicates
        # The pairs keep replaced objects alive, so that no id is used twice.
        self._kept: list[list[tuple[str, JSON]]] = []
        self.repeats: dict[tuple[int, str], int] = {}

    def make(self, pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
        """
        Make an object; of equal names the last one counts.
        """
        read = dict(pairs)
        if len(read) != len(pairs):
            counts = Counter(name for name, _ in pairs)
            twice = {name: count - 1 for name, count in counts.items() if count > 1}
            if not self._keeps_duplicates:
                text = f"the key {next(iter(twice))!r} occurs twice in one object"
                raise UnreadableDocumentError(text, None)
            self._kept.append(pairs)
            self.repeats |= {(id(read), name): count for name, count in twice.items()}
        return read

    def duplicates_in(self, value: JSON, marks: Mapping[Place, Mark]) -> Iterator[Duplicate]:
        """
        Yield the names that occur again in a document.
        """
        waiting: list[tuple[Path, JSON]] = [((), value)] if self.repeats else []
        while waiting:
            path, container = waiting.pop()
            steps: Iterable[tuple[Step, JSON]] = ()
            if isinstance(container, dict):
                steps = container.items()
            elif isinstance(container, list):
                steps = enumerate(container)
            for step, member in steps:
                if (id(container), step) in self.repeats:
                    yield Duplicate((*path, step), marks.get((id(container), step)))
                waiting.append(((*path, step), member))


def _integer(digits: str) -> int | float:
    return bounded(int(digits)) if len(digits) <= _DIGITS_OF_64_BITS else float(digits)


def _refuse_constant(name: str) -> JSON:
    raise UnreadableDocumentError(f"JSON has no number {name}", None)


def _is_too_deep(value: JSON) -> bool:
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            return True
        containers = [item for item in level if isinstance(item, (dict, list))]
        level = [
            child
            for container in containers
            for child in (container.values() if isinstance(container, dict) else container)
            if isinstance(child, (dict, list))
        ]
    return False


def items_of(document: Document) -> Iterator[Document]:
    """
    Yield the items of a list as documents; yield any other document as it is.
    """
    match document.value:
        case {"kind": str(kind), "items": list(items), **rest} if kind.endswith("List"):
            version = rest.get("apiVersion")
            api_version = version if isinstance(version, str) else None
        case _:
            yield document
            return
    for index, item in enumerate(items):
        yield Document(
            source=document.source,
            number=document.number,
            value=_typed(item, kind.removesuffix("List"), api_version),
            root=document.mark(("items", index)),
            marks=document.marks,
            is_json=document.is_json,
            duplicates=tuple(
                one._replace(path=one.path[2:])
                for one in document.duplicates
                if one.path[:2] == ("items", index)
            ),
        )


def with_items(document: Document, items: Sequence[JSON]) -> JSON:
    """
    Return the document's value with new items; the opposite of ``items_of``.

    Args:
        items: The new items, as many as before and in the same order.
    """
    value = document.value
    if not (isinstance(value, dict) and _is_list(value)):
        return items[0]
    before = value["items"]
    pairs = zip(items, before if isinstance(before, list) else [], strict=True)
    return {**value, "items": [_untyped(new, old) for new, old in pairs]}


def _is_list(value: dict[str, JSON]) -> bool:
    kind = value.get("kind")
    return isinstance(kind, str) and kind.endswith("List") and isinstance(value.get("items"), list)


def _untyped(item: JSON, before: JSON) -> JSON:
    if isinstance(item, dict) and isinstance(before, dict) and "kind" not in before:
        added = {"kind", "apiVersion"} - before.keys()
        return {key: value for key, value in item.items() if key not in added}
    return item


def _typed(item: JSON, kind: str, api_version: JSON) -> JSON:
    # The items of a list of one kind have no kind of their own; the list has it.
    if isinstance(item, dict) and "kind" not in item and kind:
        return {"apiVersion": api_version, "kind": kind, **item}
    return item
