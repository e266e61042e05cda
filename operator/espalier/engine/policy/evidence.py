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

The record is about the objects that were written under the definition. An object that is older than
the definition was there before: somebody took its finalizer off, so that deleting it left the
objects. Until a proof, the record says nothing of such an object.

Without a complete record and behind a conversion webhook, which may rename fields, the object is
read at each version that its ``managedFields`` name, and must show all that they name there.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from espalier.crd.definition import Definition
from espalier.crd.field_sets import Named, named_paths
from espalier.engine.policy.field_managers import entries_at
from espalier.engine.policy.record import ANYTHING, SchemaRecord, first_record
from espalier.engine.policy.timestamps import seconds_of
from espalier.engine.policy.version_evidence import StoredAt, Unlisted, VersionEvidence
from espalier.engine.ports import StoredMetadata
from espalier.paths import JSON

CLEAR_MARGIN_SECONDS = 60.0
"""A write counts as later than a definition's change if it is later by the settle time and this."""

NO_MANAGED_FIELDS = "?no-managed-fields"
GONE_VERSION = "?managed-fields-of-a-dropped-version"
UNCOMPARED = "?cannot-be-read-at-two-versions"
TAKES_LONG = "?takes-too-long-to-compare"
OWNED_AS_A_WHOLE = "?owned-as-a-whole"
NOT_SHOWN = "?set-and-not-shown"
NOT_SERVED = "?set-through-a-version-that-is-not-served"

MAX_ITEMS = 100
"""How many things are named that one object would lose."""

MORE_ITEMS = "?more"
"""Stands for those beyond ``MAX_ITEMS``; no label can consent to it."""


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
        is_proved: Whether the record begins with a proof, and so is about all objects.
        storages: All versions that were the storage version since the record began; None if one of
            them may not be known, so that ``status.storedVersions`` alone names them.
        recorded_at: A time, RFC 3339, after which the definition has not changed in any way; empty
            if none is known.
    """

    def __init__(  # noqa: PLR0913 - each is another thing
        self,
        definition: Definition,
        record: SchemaRecord | None,
        *,
        settle_seconds: float,
        now_seconds: float,
        is_proved: bool = False,
        storages: frozenset[str] | None = None,
        recorded_at: str = "",
    ) -> None:
        record = first_record(definition) if record is None else record
        self._definition = definition
        self._is_complete = record.is_complete
        self._by_webhook = definition.conversion != "None"
        self._served = frozenset(version.name for version in definition.versions if version.served)
        names = (*definition.stored_versions, definition.storage.name, *sorted(storages or ()))
        self._stored = StoredAt(definition, record, dict.fromkeys(names))
        # What was there before the definition may be stored at any of its versions.
        self._anywhere = StoredAt(
            definition, record, [version.name for version in definition.versions]
        )
        self._structurals = {
            f"{definition.group}/{version.name}": version.structural
            for version in self._anywhere.versions
        }
        self._created_seconds = float("-inf") if is_proved else _or_never(definition.created_at)
        # Since when unknown fields are not preserved any more, managedFields do not show.
        stopped = any(ANYTHING in version.hidden for version in self._stored.versions)
        changed_at = recorded_at if stopped else definition.spec_written_at
        self._clear_after_seconds = _or_never(changed_at) + settle_seconds + CLEAR_MARGIN_SECONDS
        self._clear_before_seconds = now_seconds + CLEAR_MARGIN_SECONDS
        self._items, self._compare_at = self._stored.items, self._stored.compare_at
        if storages is None:
            unlisted = Unlisted(definition, record)
            self._items |= unlisted.items
            self._compare_at += unlisted.compare_at
        self._is_harmless = (
            self._is_complete and self._stored.is_harmless and not (self._items or self._compare_at)
        )
        # What holds for each object that was not written since.
        self._verdict = Verdict(items=bounded(self._items), compare_at=self._compare_at)

    @property
    def is_harmless(self) -> bool:
        """
        Whether no object that the record is about can lose anything.
        """
        return self._is_harmless

    def covers(self, metadata: StoredMetadata) -> bool:
        """
        Report whether the record is about an object, in whatever state it is by now.
        """
        created = seconds_of(metadata.created_at)
        if created is None:
            created = float("-inf")
        return self._created_seconds <= created

    def judge(self, metadata: StoredMetadata) -> Verdict:
        """
        Judge one object.
        """
        is_covered = self.covers(metadata)
        is_complete = self._is_complete and is_covered
        if is_complete and self._is_harmless:
            return _CLEAR
        if self._was_written_since(metadata) and (is_complete or not self._contradicts(metadata)):
            return _CLEAR
        if is_complete:
            return self._verdict
        stored = self._stored if is_covered else self._anywhere
        items = {*stored.items, *self._items, *self._suspicions(metadata, stored)}
        compare_at = [*dict.fromkeys((*stored.compare_at, *self._compare_at))]
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

    def _contradicts(self, metadata: StoredMetadata) -> bool:
        """
        Report whether an object shows that the definition changed later than it seems.

        One that was created after the last change can have no field that its schema does not
        specify. A definition that stops preserving unknown fields changes without a trace.
        """
        created = seconds_of(metadata.created_at)
        if created is None or created <= self._clear_after_seconds:
            return False
        return any(map(self._names_unspecified, metadata.managed_fields))

    def _names_unspecified(self, entry: JSON) -> bool:
        api_version = entry.get("apiVersion") if isinstance(entry, dict) else None
        if not isinstance(api_version, str):
            return False
        if api_version not in self._structurals:
            return api_version.startswith(f"{self._definition.group}/")
        return bool(named_paths(self._structurals[api_version], [entry]).unspecified)

    def _suspicions(self, metadata: StoredMetadata, stored: StoredAt) -> Iterator[str]:
        if unprovable := self._unprovable(metadata.managed_fields):
            yield unprovable
            return
        known: dict[str | int, Named] = {}
        for version in stored.versions:
            if not version.is_readable:
                continue
            # Versions have the same schema more often than not, and so they specify the same.
            key = version.name if self._by_webhook else id(version.structural)
            named = known.get(key)
            if named is None:
                entries = self._entries_of(version, metadata.managed_fields)
                named = known[key] = named_paths(version.structural, entries)
            yield from _named_at(version, named, stored.hides[version.name])

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
            if api_version.startswith(prefix) and api_version not in self._structurals:
                # The server tracks nothing more once it cannot convert an entry.
                return GONE_VERSION
        return ""

    def _named_versions(self, entries: Collection[JSON]) -> frozenset[str]:
        """
        Collect the definition's versions that managedFields name.
        """
        named = (entry.get("apiVersion") for entry in entries if isinstance(entry, dict))
        ours = (name for name in named if isinstance(name, str) and name in self._structurals)
        return frozenset(name.rpartition("/")[2] for name in ours)

    def _entries_of(self, version: VersionEvidence, entries: tuple[JSON, ...]) -> tuple[JSON, ...]:
        # A webhook may rename what the entries of other versions name.
        if not self._by_webhook:
            return entries
        return entries_at(entries, f"{self._definition.group}/{version.name}")


def _or_never(text: str) -> float:
    seconds = seconds_of(text)
    return float("inf") if seconds is None else seconds


def bounded(items: Collection[str]) -> frozenset[str]:
    """
    Keep the first ones of what one object would lose, and a mark that there is more.
    """
    if len(items) <= MAX_ITEMS:
        return frozenset(items)
    return frozenset((*sorted(items)[:MAX_ITEMS], MORE_ITEMS))


def _named_at(
    version: VersionEvidence, named: Named, hides: Callable[[str], bool]
) -> Iterator[str]:
    """
    Find what managedFields name that a version's schema does not keep, or may not.
    """
    yield from (version.name + path for path in named.unspecified)
    for whole in named.wholes:
        if hides(whole):
            yield f"{OWNED_AS_A_WHOLE} {version.name}{whole}"
