"""
What is recorded of a definition: every path that the schema of each version has specified.

Bytes that are stored at a version are pruned by the schema of that very version. So what such a
schema once specified and no longer does may still be stored, invisible, until the next write. The
record holds it for each version by itself, since the last proof or since the first generation.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple

from espalier.crd.definition import Definition, Version
from espalier.crd.field_sets import is_path, specified_paths
from espalier.crd.structural import structural_of
from espalier.errors import SchemaParseError
from espalier.paths import JSON

ANYTHING = ".**"
"""The path of all that the root of a schema keeps, or that nobody prunes."""

UNPRUNED = ".**.**"
"""
Stands for fields at any place, in what the schema specifies too: the definition preserves them.

Where only the root of the schema keeps unknown fields, what is in the fields that it specifies is
pruned all the same.
"""

DIGEST_LENGTH = 32
"""How many hexadecimal digits of a digest are kept."""


def is_unseen_between(before: int, after: int) -> bool:
    """
    Report whether there may be a generation between two, which may have had any schema.

    Generations that go back are those of an older etcd that was restored.
    """
    return after - before not in (0, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaRecord:
    """
    What the schemas of a definition have specified.

    Attributes:
        generation: The last one that was taken in.
        is_complete: Every generation since the last proof, or since the first one, was taken in.
        specified: For each version, all paths that its schema specified then and since;
            ``ANYTHING`` and ``UNPRUNED`` among them if unknown fields were preserved.
    """

    generation: int
    is_complete: bool
    specified: Mapping[str, frozenset[str]] = field(hash=False)

    def with_definition(self, definition: Definition) -> "SchemaRecord":
        """
        Add what a definition specifies, since objects may be written under it from now on.

        A generation that was passed over, or a schema that cannot be read, may have specified
        anything: the record is incomplete from then on, until the next proof.
        """
        now, are_all_readable = _specified_by(definition)
        # The same generation with another schema: an older etcd was restored.
        is_known = definition.generation == self.generation and all(
            # Earlier releases did not tell the two apart.
            paths <= self.specified.get(name, frozenset()) | {UNPRUNED}
            for name, paths in now.items()
        )
        is_next = is_known or definition.generation == self.generation + 1
        names = self.specified.keys() | now.keys()
        merged = {
            name: self.specified.get(name, frozenset()) | now.get(name, frozenset())
            for name in names
        }
        return replace(
            self,
            generation=definition.generation,
            is_complete=self.is_complete and is_next and are_all_readable,
            specified=MappingProxyType(merged),
        )

    def digest(self) -> str:
        """
        Return a digest that distinguishes the record from others.
        """
        text = json.dumps(render_record(self), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_LENGTH]


def first_record(definition: Definition) -> SchemaRecord:
    """
    Begin the record of a definition of which nothing is known.
    """
    specified, are_all_readable = _specified_by(definition)
    return SchemaRecord(
        generation=definition.generation,
        # No schema but this one was ever there.
        is_complete=definition.generation == 1 and are_all_readable,
        specified=specified,
    )


def record_of_proof(definition: Definition) -> SchemaRecord:
    """
    Make the record of a run that has just shown every stored object to be in its normal form.
    """
    specified, are_all_readable = _specified_by(definition)
    return SchemaRecord(
        generation=definition.generation, is_complete=are_all_readable, specified=specified
    )


def render_record(record: SchemaRecord) -> dict[str, JSON]:
    """
    Make the document of a record.
    """
    return {
        "generation": record.generation,
        "isComplete": record.is_complete,
        "specified": {name: [*sorted(paths)] for name, paths in record.specified.items()},
    }


def read_record(document: JSON) -> SchemaRecord | None:
    """
    Read the document of a record; None if it is not of that form.
    """
    if not isinstance(document, dict):
        return None
    generation, is_complete, specified = (
        document.get(name) for name in ("generation", "isComplete", "specified")
    )
    if type(generation) is not int or not isinstance(is_complete, bool):
        return None
    if not isinstance(specified, dict):
        return None
    read = {name: _read_paths(paths) for name, paths in specified.items()}
    kept = {name: paths for name, paths in read.items() if paths is not None}
    if len(kept) != len(read):
        return None
    return SchemaRecord(
        generation=generation, is_complete=is_complete, specified=MappingProxyType(kept)
    )


def _read_paths(value: JSON) -> frozenset[str] | None:
    if not isinstance(value, list):
        return None
    paths = frozenset(item for item in value if isinstance(item, str) and is_path(item))
    return paths if len(paths) == len(value) else None


class _Specified(NamedTuple):
    paths: Mapping[str, frozenset[str]]
    are_all_readable: bool


def _specified_by(definition: Definition) -> _Specified:
    read = {version.name: _paths_of(version) for version in definition.versions}
    preserves = definition.preserve_unknown_fields
    more = frozenset({ANYTHING, UNPRUNED}) if preserves else frozenset()
    return _Specified(
        MappingProxyType({name: (paths or frozenset()) | more for name, paths in read.items()}),
        # Where anything may be stored, it does not matter what else is specified.
        are_all_readable=preserves or None not in read.values(),
    )


def _paths_of(version: Version) -> frozenset[str] | None:
    try:
        return specified_paths(structural_of(version))
    except SchemaParseError:
        return None
