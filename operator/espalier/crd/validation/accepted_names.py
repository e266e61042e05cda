"""
Which names of a definition an API server would not accept, since they are in use in its group.

The server stores such a definition, and reports the conflict in the condition ``NamesAccepted``. A
new definition is not served then; one that is served goes on with the names that it had.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from espalier.crd.internal.definition import Internal, Names
from espalier.golang.printing import quote
from espalier.paths import Path


class NameConflict(NamedTuple):
    """
    One name that is in use.

    Attributes:
        reason: The reason of the condition, such as ``PluralConflict``.
        path: The path of the name in a v1 manifest.
        detail: The message of the condition.
    """

    reason: str
    path: Path
    detail: str

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}"


def name_conflicts(
    new: Internal, live: Internal | None, group: Iterable[Internal]
) -> tuple[NameConflict, ...]:
    """
    Return the names of a definition that are in use.

    Args:
        live: The definition that it replaces; None if it is new.
        group: All definitions of the same API group in the cluster, the live one included: a name
            that was accepted as a plural cannot become a short name too.

    Returns:
        The conflicts, in the order in which the server looks for them. The condition has the last.

    Source:
        apiextensions-apiserver, ``pkg/controller/status/naming_controller.go``,
        ``calculateNamesAndConditions``.
    """
    resources: set[str] = set()
    kinds: set[str] = set()
    for one in group:
        accepted = one.accepted_names
        resources |= {accepted.plural, accepted.singular, *accepted.short_names}
        kinds |= {accepted.kind, accepted.list_kind}
    before = Names() if live is None else live.accepted_names
    return tuple(_conflicts(new.names, before, resources, kinds))


def _conflicts(
    asked: Names, before: Names, resources: set[str], kinds: set[str]
) -> Iterator[NameConflict]:
    if asked.plural != before.plural and asked.plural in resources:
        yield _conflict("PluralConflict", ("plural",), asked.plural)
    if asked.singular != before.singular and asked.singular in resources:
        yield _conflict("SingularConflict", ("singular",), asked.singular)
    for index, name in enumerate(asked.short_names):
        if name not in before.short_names and name in resources:
            yield _conflict("ShortNamesConflict", ("shortNames", index), name)
    if asked.kind != before.kind and asked.kind in kinds:
        yield _conflict("KindConflict", ("kind",), asked.kind)
    if asked.list_kind != before.list_kind and asked.list_kind in kinds:
        yield _conflict("ListKindConflict", ("listKind",), asked.list_kind)


def _conflict(reason: str, steps: Path, name: str) -> NameConflict:
    return NameConflict(reason, ("spec", "names", *steps), f"{quote(name)} is already in use")
