"""
Would the rewrite of one object lose something? The evidence, for each version by itself.

An object may be stored at any version S that ``status.storedVersions`` names. A rewrite decodes its
bytes, which prunes them by S's own schema, converts them to the storage version T and prunes by T's
schema. So it loses

- what S's schema once specified and no longer does: hidden, the API does not show it any more;
- with conversion ``None``, what S specifies and T does not: shown at S, if S is served.

The record shows the first, ``managedFields`` show which objects are concerned, and a comparison of
both versions shows the second. What they cannot show counts as lost. A write after the
definition's last change clears an object of all of it, since any write stores pruned bytes.

Without a complete record and behind a conversion webhook, which may rename fields, the object is
read at each version that its ``managedFields`` name, and must show all that they name there.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial

from espalier.crd.definition import Definition
from espalier.crd.field_sets import (
    Named,
    hides_fields,
    named_paths,
    specified_paths,
    unspecified,
)
from espalier.crd.structural import structural_of
from espalier.engine.policy.field_managers import entries_at
from espalier.engine.policy.record import ANYTHING, SchemaRecord, first_record
from espalier.engine.policy.timestamps import seconds_of
from espalier.engine.ports import StoredMetadata
from espalier.errors import SchemaParseError
from espalier.paths import JSON
from espalier.schema import Structural

CLEAR_MARGIN_SECONDS = 60.0
"""A write counts as later than a definition's change if it is later by the settle time and this."""

NO_MANAGED_FIELDS = "?no-managed-fields"
GONE_VERSION = "?managed-fields-of-a-dropped-version"
UNREADABLE_SCHEMA = "?schema-cannot-be-read"
PRESERVED = "?unknown-fields-were-preserved"
UNCOMPARED = "?cannot-be-read-at-two-versions"
TAKES_LONG = "?takes-too-long-to-compare"
OWNED_AS_A_WHOLE = "?owned-as-a-whole"
NOT_SHOWN = "?set-and-not-shown"
NOT_SERVED = "?set-through-a-version-that-is-not-served"

MAX_ITEMS = 100
"""How many things are named that one object would lose."""

MORE_ITEMS = "?more"
"""Stands for those beyond ``MAX_ITEMS``; no label can consent to it."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """
    What the rewrite of one object would lose.

    Attributes:
        items: What would or might be lost: ``v1.spec.color``, the version and the path; or, with
            ``?`` before it, why nothing can be proved. Empty if nothing would.
        compare_at: Served versions at which the object must be read before more is known: with
            conversion ``None`` to be compared with what the storage version shows, and behind a
            webhook with what its ``managedFields`` name.
    """

    items: frozenset[str] = frozenset()
    compare_at: tuple[str, ...] = ()

    @property
    def is_clear(self) -> bool:
        """
        Whether the object may be written.
        """
        return not self.items and not self.compare_at


_CLEAR = Verdict()


class Evidence:
    """
    Judges the objects of a definition, one at a time, by their metadata alone.

    Args:
        record: What is known; None if nothing is but the definition itself.
        settle_seconds: For so long an API server may go on with an older definition.
        now_seconds: Since the epoch, by this process' clock. Times of writes that are later than
            that clear nothing.
    """

    def __init__(
        self,
        definition: Definition,
        record: SchemaRecord | None,
        *,
        settle_seconds: float,
        now_seconds: float,
    ) -> None:
        record = first_record(definition) if record is None else record
        self._definition = definition
        self._is_complete = record.is_complete
        self._by_webhook = definition.conversion != "None"
        self._api_versions = frozenset(
            f"{definition.group}/{version.name}" for version in definition.versions
        )
        self._served = frozenset(version.name for version in definition.versions if version.served)
        self._versions = tuple(_evidence_of(definition, record))
        changed = seconds_of(definition.spec_written_at)
        self._clear_after_seconds = (
            float("inf") if changed is None else changed + settle_seconds + CLEAR_MARGIN_SECONDS
        )
        self._clear_before_seconds = now_seconds + CLEAR_MARGIN_SECONDS
        self._is_harmless = self._is_complete and all(
            version.is_readable and not version.hidden and not version.not_kept
            for version in self._versions
        )
        # What holds for each object that was not written since.
        self._items = frozenset(_items_of(self._versions))
        self._compare_at = tuple(
            version.name
            for version in self._versions
            if version.is_readable and version.not_kept and version.is_served
        )
        self._verdict = Verdict(items=bounded(self._items), compare_at=self._compare_at)
        self._hides: dict[str, Callable[[str], bool]] = {
            version.name: lru_cache(_REMEMBERED_PATHS)(partial(hides_fields, version.structural))
            for version in self._versions
        }

    @property
    def is_harmless(self) -> bool:
        """
        Whether no object at all can lose anything.
        """
        return self._is_harmless

    def judge(self, metadata: StoredMetadata) -> Verdict:
        """
        Judge one object.
        """
        if self._is_harmless or self._was_written_since(metadata):
            return _CLEAR
        if self._is_complete:
            return self._verdict
        items = {*self._items, *self._suspicions(metadata)}
        compare_at = [*self._compare_at]
        if self._by_webhook:
            named = self._named_versions(metadata.managed_fields)
            items.update(f"{NOT_SERVED} {name}" for name in named - self._served)
            compare_at += sorted(named & self._served)
        return Verdict(items=bounded(items), compare_at=tuple(compare_at))

    def _was_written_since(self, metadata: StoredMetadata) -> bool:
        times = [metadata.created_at]
        times += [
            text
            for entry in metadata.managed_fields
            if isinstance(entry, dict) and isinstance(text := entry.get("time"), str)
        ]
        return any(
            self._clear_after_seconds < seconds < self._clear_before_seconds
            for seconds in map(seconds_of, times)
            if seconds is not None
        )

    def _suspicions(self, metadata: StoredMetadata) -> Iterator[str]:
        if unprovable := self._unprovable(metadata.managed_fields):
            yield unprovable
            return
        known: dict[str | int, Named] = {}
        for version in self._versions:
            if not version.is_readable:
                continue
            # Versions have the same schema more often than not, and so they specify the same.
            key = version.name if self._by_webhook else id(version.structural)
            named = known.get(key)
            if named is None:
                entries = self._entries_of(version, metadata.managed_fields)
                named = known[key] = named_paths(version.structural, entries)
            yield from self._named_at(version, named)

    def _unprovable(self, entries: Collection[JSON]) -> str:
        """
        Name why managedFields may lack something; nothing if they seem to be whole.
        """
        if not entries:
            return NO_MANAGED_FIELDS
        prefix = f"{self._definition.group}/"
        for entry in entries:
            api_version = entry.get("apiVersion") if isinstance(entry, dict) else None
            if not isinstance(api_version, str):
                return NO_MANAGED_FIELDS
            if api_version.startswith(prefix) and api_version not in self._api_versions:
                # The server tracks nothing more once it cannot convert an entry.
                return GONE_VERSION
        return ""

    def _named_versions(self, entries: Collection[JSON]) -> frozenset[str]:
        """
        Collect the definition's versions that managedFields name.
        """
        named = (entry.get("apiVersion") for entry in entries if isinstance(entry, dict))
        ours = (name for name in named if isinstance(name, str) and name in self._api_versions)
        return frozenset(name.rpartition("/")[2] for name in ours)

    def _named_at(self, version: VersionEvidence, named: Named) -> Iterator[str]:
        """
        Find what managedFields name that a version's schema does not keep, or may not.
        """
        yield from (version.name + path for path in named.unspecified)
        hides = self._hides[version.name]
        for whole in named.wholes:
            if hides(whole):
                yield f"{OWNED_AS_A_WHOLE} {version.name}{whole}"

    def _entries_of(self, version: VersionEvidence, entries: tuple[JSON, ...]) -> tuple[JSON, ...]:
        # A webhook may rename what the entries of other versions name.
        if not self._by_webhook:
            return entries
        return entries_at(entries, f"{self._definition.group}/{version.name}")


def bounded(items: Collection[str]) -> frozenset[str]:
    """
    Keep the first ones of what one object would lose, and a mark that there is more.
    """
    if len(items) <= MAX_ITEMS:
        return frozenset(items)
    return frozenset((*sorted(items)[:MAX_ITEMS], MORE_ITEMS))


def _items_of(versions: Collection[VersionEvidence]) -> Iterator[str]:
    for version in versions:
        if not version.is_readable:
            yield f"{UNREADABLE_SCHEMA} {version.name}"
        elif not version.is_served:
            yield from (version.name + path for path in version.not_kept)
        # managedFields do not clear an object of these: they name neither what a default filled in,
        # nor what admission or a conversion webhook has set.
        for path in version.hidden:
            is_open = path == ANYTHING
            yield f"{PRESERVED} {version.name}" if is_open else version.name + path


def _evidence_of(definition: Definition, record: SchemaRecord) -> Iterator[VersionEvidence]:
    storage = definition.storage
    kept = _structural_of(definition, storage.name)
    names = dict.fromkeys((*definition.stored_versions, storage.name))
    by_name = {version.name: version for version in definition.versions}
    distinct: list[Structural] = []
    for name in names:
        version = by_name.get(name)
        structural = _structural_of(definition, name)
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
            hidden=unspecified(structural, record.specified.get(name, frozenset())),
            not_kept=not_kept,
            is_served=version.served,
        )


def _structural_of(definition: Definition, name: str) -> Structural | None:
    for version in definition.versions:
        if version.name == name:
            try:
                return structural_of(version)
            except SchemaParseError:
                return None
    return None
