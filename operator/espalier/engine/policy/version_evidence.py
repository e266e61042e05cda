"""
What is known of the objects that are stored at one version of a definition.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial

from espalier.crd.definition import Definition
from espalier.crd.field_sets import TYPE_META, hides_fields, specified_paths, unspecified
from espalier.crd.structural import structural_of
from espalier.engine.policy.record import ANYTHING, UNPRUNED, SchemaRecord
from espalier.errors import SchemaParseError
from espalier.schema import Structural

UNREADABLE_SCHEMA = "?schema-cannot-be-read"
PRESERVED = "?unknown-fields-were-preserved"

_REMEMBERED_PATHS = 4096
"""A bound is needed: where unknown fields are preserved, objects name any number of paths."""


@dataclass(frozen=True, slots=True)
class VersionEvidence:
    """
    What is known of objects that are stored at one version.

    Attributes:
        structural: The version's schema now.
        hidden: Paths that its schema has specified, by the record, and no longer does.
        not_kept: With conversion ``None``, the paths that it specifies and the storage version
            does not.
        is_served: Whether objects can be read at it.
        is_readable: Whether its schema can be read.
    """

    name: str
    structural: Structural | None
    hidden: tuple[str, ...] = ()
    not_kept: tuple[str, ...] = ()
    is_served: bool = True
    is_readable: bool = True


class StoredAt:
    """
    What holds for objects that may be stored at any of some versions.

    Attributes:
        versions: Those.
        items: What each object would or might lose that was not written since.
        compare_at: Versions at which each such object must be read before more is known.
        hides: By version, reports whether a path may hold fields that no history names.
        is_harmless: Whether none of them can lose anything, if the record is complete.
    """

    def __init__(
        self, definition: Definition, record: SchemaRecord, names: Collection[str]
    ) -> None:
        self.versions = tuple(_evidence_of(definition, record, names))
        self.items = frozenset(_items_of(self.versions))
        self.compare_at = tuple(
            version.name
            for version in self.versions
            if version.is_readable and version.not_kept and version.is_served
        )
        self.hides: Mapping[str, Callable[[str], bool]] = {
            version.name: lru_cache(_REMEMBERED_PATHS)(partial(hides_fields, version.structural))
            for version in self.versions
        }
        self.is_harmless = all(
            version.is_readable and not version.hidden and not version.not_kept
            for version in self.versions
        )


class Unlisted:
    """
    What objects would lose that are stored at a version which ``status.storedVersions`` lacks.

    A person may have trimmed it by hand, before the objects were rewritten.

    Attributes:
        items: What each object might lose: what such a version has specified, by the record, and no
            longer does; and with conversion ``None``, of those that are not served, what they
            specify and the storage version does not.
        compare_at: With conversion ``None``, those that are served and specify more.
    """

    def __init__(self, definition: Definition, record: SchemaRecord) -> None:
        storage = definition.storage.name
        listed = (*definition.stored_versions, storage)
        kept = structural_at(definition, storage)
        items: set[str] = set()
        compare_at = []
        for version in definition.versions:
            structural = None if version.name in listed else structural_at(definition, version.name)
            if structural is None:
                continue
            hidden = _hidden_by(structural, record.specified.get(version.name, frozenset()))
            items.update(_items_at(version.name, hidden))
            if definition.conversion != "None":
                continue
            lost = unspecified(kept, specified_paths(structural))
            if lost and version.served:
                compare_at.append(version.name)
            elif lost:
                items.update(version.name + path for path in lost)
        self.items = frozenset(items)
        self.compare_at = tuple(compare_at)


def structural_at(definition: Definition, name: str) -> Structural | None:
    """
    Return the schema of a version; None if it cannot be read, or there is no such version.
    """
    for version in definition.versions:
        if version.name == name:
            try:
                return structural_of(version)
            except SchemaParseError:
                return None
    return None


def _items_of(versions: Collection[VersionEvidence]) -> Iterator[str]:
    for version in versions:
        if not version.is_readable:
            yield f"{UNREADABLE_SCHEMA} {version.name}"
        elif not version.is_served:
            yield from (version.name + path for path in version.not_kept)
        # managedFields do not clear an object of these: they name neither what a default filled in,
        # nor what admission or a conversion webhook has set.
        yield from _items_at(version.name, version.hidden)


def _evidence_of(
    definition: Definition, record: SchemaRecord, names: Collection[str]
) -> Iterator[VersionEvidence]:
    storage = definition.storage
    kept = structural_at(definition, storage.name)
    by_name = {version.name: version for version in definition.versions}
    distinct: list[Structural] = []
    for name in names:
        version = by_name.get(name)
        structural = structural_at(definition, name)
        if structural is not None:
            structural = next((one for one in distinct if one == structural), structural)
            distinct.append(structural)
        if version is None or structural is None:
            yield VersionEvidence(name, None, is_readable=False)
            continue
        not_kept: tuple[str, ...] = ()
        if name != storage.name and definition.conversion == "None":
            not_kept = unspecified(kept, specified_paths(structural))
        yield VersionEvidence(
            name,
            structural,
            hidden=_hidden_by(structural, record.specified.get(name, frozenset())),
            not_kept=not_kept,
            is_served=version.served,
        )


def _hidden_by(structural: Structural, specified: frozenset[str]) -> tuple[str, ...]:
    """
    Return the paths that the schema prunes now, of all that was specified or not pruned at all.
    """
    hidden = unspecified(structural, specified - {UNPRUNED})
    keeps_all = structural.preserve_unknown_fields and structural.properties.keys() <= TYPE_META
    if UNPRUNED in specified and ANYTHING not in hidden and not keeps_all:
        return (ANYTHING, *hidden)
    return hidden


def _items_at(name: str, hidden: Collection[str]) -> Iterator[str]:
    for path in hidden:
        yield f"{PRESERVED} {name}" if path == ANYTHING else name + path
