"""
One change of a definition, the kinds of changes, and what a policy makes of them.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from msgspec import Struct

from espalier.paths import Path


class Severity(enum.StrEnum):
    """
    What a change of a kind counts as.
    """

    ERROR = "error"
    WARNING = "warning"
    ALLOWED = "allowed"


class Change(Struct, frozen=True, kw_only=True):
    """
    One change.

    Attributes:
        kind: A key of ``KINDS``.
        path: The path in the new definition; of something removed, where it would be.
        version: The version; empty if the definition as a whole changes.
        detail: What changes, from what to what.
        effect: What happens to stored objects, and whether API servers tolerate old values.
    """

    kind: str
    path: Path
    version: str
    detail: str
    effect: str


_ERRORS = (
    *("bound-narrowed", "default-removed", "embedded-resource-added", "enum-added"),
    *("enum-value-removed", "field-removed", "field-specified", "format-changed"),
    *("junctor-changed", "list-keys-changed", "list-type-changed", "nullable-removed"),
    *("pattern-changed", "pruning-enabled", "required-added", "rule-added", "type-changed"),
    *("version-not-served", "version-removed"),
)
_WARNINGS = (
    *("default-added", "default-changed", "embedded-resource-removed", "enum-value-added"),
    *("map-type-changed", "nullable-added", "storage-version-changed", "subresource-added"),
    *("subresource-removed", "type-widened"),
)
_ALLOWED = (
    *("bound-widened", "description-changed", "enum-removed", "field-opened", "format-removed"),
    *("junctor-removed", "pattern-removed", "required-defaulted", "required-removed"),
    *("rule-removed",),
)

KINDS: Mapping[str, Severity] = MappingProxyType(
    {
        **dict.fromkeys(_ERRORS, Severity.ERROR),
        **dict.fromkeys(_WARNINGS, Severity.WARNING),
        **dict.fromkeys(_ALLOWED, Severity.ALLOWED),
    }
)
"""
All kinds of changes, with their severity by default.

An error is what may make a stored object invalid, or lose a part of it; a warning is what clients
may notice.
"""


@dataclass(frozen=True, slots=True)
class ChangePolicy:
    """
    The severity of each kind of change.

    Attributes:
        severities: The kinds whose severity is not the one by default.
    """

    severities: Mapping[str, Severity] = field(default_factory=dict, hash=False)

    def severity_of(self, change: Change) -> Severity:
        """
        Return the severity of a change.
        """
        return self.severities.get(change.kind, KINDS[change.kind])
