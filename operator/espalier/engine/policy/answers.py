"""
What the answer of a rewrite shows: did anything but the schema change the object?

A rewrite changes nothing itself. What the server changes, it does by the schema: it prunes, and
fills in defaults, and it records no field manager for either. So admission has changed the object
if its labels, annotations or finalizers are others afterwards, if another field manager appears, if
Espalier becomes the manager of fields that have no default, or if the generation rises. Where the
storage version has defaults, or does not specify all that another stored version does, a rise alone
proves nothing. If an object's fields are not tracked either, it is not known what has changed it;
then more dry runs are made in its namespace.

Source:
    apiextensions-apiserver, ``pkg/registry/customresource/strategy.go``, ``PrepareForUpdate``;
    apiserver, ``pkg/endpoints/handlers/patch.go``, ``applyPatchToCurrentObject``.
"""

from collections.abc import Callable, Iterator

from espalier.crd import Definition
from espalier.crd.field_sets import specified_paths, unspecified
from espalier.crd.structural import structural_of
from espalier.engine.ports import StoredMetadata
from espalier.engine.status.conditions import Reason
from espalier.engine.status.text import enumerated, printable, printable_path
from espalier.errors import RunStoppedError, SchemaParseError
from espalier.names import FIELD_MANAGER
from espalier.paths import JSON
from espalier.plurals import counted
from espalier.schema import Structural

MAX_MANAGER_CHARACTERS = 60

_METADATA = "f:metadata"

_Steps = tuple[str, ...]


class AnswerCheck:
    """
    Looks at the answers of one run's rewrites.

    Attributes:
        suspects: Namespaces of which an object has changed, and it is not known by what.
        checked: How many rewrites changed what is stored, and nothing else.
    """

    def __init__(self, definition: Definition) -> None:
        self.suspects: set[str] = set()
        self.checked = 0
        self._fills_in = not definition.preserve_unknown_fields
        self._structural = _structural_of(definition)
        self._may_prune = self._fills_in and _may_prune(definition)
        self._has_defaults = self._fills_in and _any(self._structural, _has_default)

    def check(self, before: StoredMetadata, after: StoredMetadata) -> None:
        """
        Compare the metadata of an object before its rewrite, and as the answer has it.

        Raises:
            RunStoppedError: Something else than the schema has changed the object.
        """
        changes = () if _are_alike(before, after) else tuple(self._changes(before, after))
        if changes:
            raise RunStoppedError(
                Reason.ADMISSION_MUTATES,
                f"the rewrite of {before.key} changed more than the schema does:"
                f" {enumerated(changes)}."
                f" {counted(self.checked, 'object')} {'was' if self.checked == 1 else 'were'}"
                " rewritten before it without such a change;"
                " nothing more is written",
            )
        self.checked += 1

    def _changes(self, before: StoredMetadata, after: StoredMetadata) -> Iterator[str]:
        if None not in (before.tags, after.tags) and before.tags != after.tags:
            yield "labels, annotations or finalizers"
        known = _managers(before)
        for name in sorted(_managers(after) - known - {FIELD_MANAGER}):
            shown = printable(name, max_characters=MAX_MANAGER_CHARACTERS)
            yield f"field manager {shown} appeared"
        if not before.generation or after.generation <= before.generation:
            return
        if self._may_prune or (self._has_defaults and not after.managed_fields):
            self.suspects.add(before.key.namespace)
        others = self._set_without_default(before, after)
        if others:
            yield f"fields that have no default: {enumerated(map(_rendered, others))}"
        elif not (self._may_prune or self._has_defaults):
            yield "the generation rose, and there is no default to fill in"

    def _set_without_default(self, before: StoredMetadata, after: StoredMetadata) -> list[_Steps]:
        """
        Name the fields without a default that this write has set.
        """
        set_before = set(_set_by_us(before))
        return [
            steps
            for steps in _set_by_us(after)
            if not (self._fills_in and _is_default(self._structural, steps))
            and steps not in set_before
        ]


def _are_alike(before: StoredMetadata, after: StoredMetadata) -> bool:
    """
    Report whether nothing has changed that could show another hand, as after most rewrites.
    """
    return (
        before.tags == after.tags
        and before.generation >= after.generation
        and before.managed_fields == after.managed_fields
    )


def _managers(metadata: StoredMetadata) -> set[str]:
    return {
        name
        for entry in metadata.managed_fields
        if isinstance(entry, dict) and isinstance(name := entry.get("manager"), str)
    }


def _set_by_us(metadata: StoredMetadata) -> Iterator[_Steps]:
    """
    Name the fields that Espalier's own entry has, but for the metadata.
    """
    for entry in metadata.managed_fields:
        match entry:
            case {"manager": str(name), "fieldsV1": dict(fields)} if name == FIELD_MANAGER:
                for key, child in fields.items():
                    if key != _METADATA:
                        yield from _leaves((key,), child)
            case _:
                continue


def _leaves(place: _Steps, fields: JSON) -> Iterator[_Steps]:
    waiting = [(place, fields)]
    while waiting:
        steps, node = waiting.pop()
        below = {} if not isinstance(node, dict) else {k: v for k, v in node.items() if k != "."}
        if below:
            waiting += [((*steps, key), child) for key, child in below.items()]
        else:
            yield steps


def _is_default(root: Structural | None, steps: _Steps) -> bool:
    """
    Report whether a field, what holds it, or what it holds has a default.
    """
    node = root
    for step in steps:
        if node is None:
            return False
        node = _below(node, step)
        if node is not None and node.default is not None:
            return True
    return _any(node, _has_default)


def _below(node: Structural, step: str) -> Structural | None:
    kind, _, name = step.partition(":")
    if kind != "f":
        return node.items
    if name in node.properties:
        return node.properties[name]
    more = node.additional_properties
    return more if isinstance(more, Structural) else None


def _any(root: Structural | None, holds: Callable[[Structural], bool]) -> bool:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node is None:
            continue
        if holds(node):
            return True
        more = node.additional_properties
        waiting += [*node.properties.values(), node.items]
        waiting += [more] if isinstance(more, Structural) else []
    return False


def _has_default(node: Structural) -> bool:
    return node.default is not None


def _rendered(steps: _Steps) -> str:
    return printable_path(step.partition(":")[2] for step in steps if step.startswith("f:"))


def _structural_of(definition: Definition) -> Structural | None:
    try:
        return structural_of(definition.storage)
    except SchemaParseError:
        return None


def _may_prune(definition: Definition) -> bool:
    """
    Report whether a stored version specifies fields that the storage version prunes.
    """
    kept = _structural_of(definition)
    try:
        return any(
            unspecified(kept, specified_paths(structural_of(version)))
            for version in definition.versions
            if not version.storage and version.name in definition.stored_versions
        )
    except SchemaParseError:
        return True
