"""
Decides which of the fields that were removed from an object may be put back, and why others not.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from espalier import crd, names, schema
from espalier.crd import Definition
from espalier.engine.legacy.inverse_patches import (
    MISSING,
    Addition,
    Missing,
    added,
    additions,
    expected_lists,
    find,
    tokens_of,
    without,
)
from espalier.engine.legacy.pruner import Pruner
from espalier.engine.policy.field_managers import is_owned
from espalier.engine.policy.labels import Mode, Policy, read_policy
from espalier.engine.policy.plan import Stop, plan
from espalier.engine.ports import key_of
from espalier.engine.ports.archive import ArchiveEntry
from espalier.engine.status.conditions import Reason
from espalier.paths import JSON, Path, render_pointer
from espalier.schema import Profile
from espalier.schema.values import equal_json

Pointer: TypeAlias = tuple[str, ...]
PRUNED_AGAIN = "it would be removed again, so specify it in the schema first"
BY_ESPALIER = f"{PRUNED_AGAIN}, or label the definition {names.step_label('prune')}=false"


class NextRemoval(NamedTuple):
    """
    What would remove fields from an object again.

    Attributes:
        pointers_in: Names these fields of an object.
        objection: Why such a field is not put back, and what to do.
    """

    pointers_in: Callable[[dict[str, JSON]], tuple[Pointer, ...]]
    objection: str = PRUNED_AGAIN


# With one of these reasons no run prunes anything, of this process or of another.
_NEVER_PRUNED = frozenset({Reason.NO_SCHEMA, Reason.NON_STRUCTURAL})


class RestorableFields:
    """
    What is to be done about the fields of an entry.

    Args:
        obj: As it is now.
        restored: The fields of it that other entries have brought back, or this one.
        removed_again: As ``removal_of`` makes it.

    Attributes:
        wanted: The fields that may be put back.
        present: Those that are there already, with the archived value.
        refused: The others, and why.
    """

    def __init__(
        self,
        obj: dict[str, JSON],
        restored: set[Pointer],
        entry: ArchiveEntry,
        removed_again: NextRemoval,
    ) -> None:
        self.wanted: list[Addition] = []
        self.refused: list[tuple[Pointer, str]] = []
        wanted = list(additions(entry.patch))
        self.present = [
            addition.pointer
            for addition in wanted
            if _is_equal(find(obj, addition.pointer), addition.value)
        ]
        # What came back, by whom ever, must not make the lists that hold it look changed.
        before = without(obj, restored.union(self.present))
        lists = expected_lists(entry.patch)
        for addition in wanted:
            if addition.pointer in self.present:
                continue
            reason = _objection(addition.pointer, obj, before, lists)
            if reason:
                self.refused.append((addition.pointer, reason))
            else:
                self.wanted.append(addition)
        self._refuse_what_goes_again(added(obj, self.wanted), removed_again)

    def _refuse_what_goes_again(self, whole: dict[str, JSON], removal: NextRemoval) -> None:
        for pointer in removal.pointers_in(whole):
            again = [a for a in self.wanted if _overlap(a.pointer, pointer)]
            for addition in again:
                self.wanted.remove(addition)
                self.refused.append((addition.pointer, removal.objection))


def removal_of(definition: Definition) -> NextRemoval:
    """
    Return what would remove fields from an object again: the server's pruning, Espalier's, or none.
    """
    if not definition.preserve_unknown_fields:
        structural = crd.structural_of(definition.storage)
        return NextRemoval(
            lambda obj: _pointers(schema.prune(obj, structural, profile=Profile.APISERVER).removed)
        )
    policy = read_policy(definition)
    planned = plan(definition, policy)
    if (
        policy.mode is not Mode.ENFORCE
        or not policy.does("prune")
        or (isinstance(planned, Stop) and planned.reason in _NEVER_PRUNED)
    ):
        return NextRemoval(lambda _: ())
    pruner = Pruner(definition)
    return NextRemoval(
        lambda obj: _pointers(pruner.prune(obj).removed) if _is_pruned(policy, obj) else (),
        BY_ESPALIER,
    )


def _is_pruned(policy: Policy, obj: dict[str, JSON]) -> bool:
    if policy.namespaces and key_of(obj).namespace not in policy.namespaces:
        return False
    return not (policy.skips_owned and is_owned(obj))


def _objection(
    pointer: Pointer,
    obj: dict[str, JSON],
    before: dict[str, JSON],
    lists: dict[Pointer, JSON],
) -> str:
    if not isinstance(find(obj, pointer), Missing):
        return "there is another value by now"
    if not isinstance(find(obj, pointer[:-1]), dict):
        return "what held it is gone"
    for above, value in lists.items():
        if pointer[: len(above)] == above and not _is_equal(find(before, above), value):
            return "a list on the way to it has changed"
    return ""


def _pointers(paths: tuple[Path, ...]) -> tuple[Pointer, ...]:
    return tuple(tokens_of(render_pointer(path)) for path in paths)


def _overlap(left: Pointer, right: Pointer) -> bool:
    length = min(len(left), len(right))
    return left[:length] == right[:length]


def _is_equal(found: "JSON | Missing", expected: "JSON | Missing") -> bool:
    if isinstance(found, Missing) or isinstance(expected, Missing):
        return found is MISSING and expected is MISSING
    return equal_json(found, expected)
