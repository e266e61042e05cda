"""
List definitions with the state of their objects, once or as they change.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence

from espalier import crd
from espalier.cli.checks.definition_names import full_names_among
from espalier.cli.operations.fleet import ask_each, merge_results, with_what_none_has
from espalier.cli.options import Chosen, Fleet, Target
from espalier.cli.output.terminal import Terminal
from espalier.cli.result import Column, Finding, Level, Problem, Result, Subject, Table
from espalier.cluster import MalformedDefinition
from espalier.crd import Condition, Definition
from espalier.engine import Mode, read_policy
from espalier.errors import NoStorageVersionError, SchemaParseError, TransientError
from espalier.names import (
    NAMES_ACCEPTED,
    NON_STRUCTURAL_SCHEMA,
    STORED_OBJECTS_CURRENT,
    STORED_OBJECTS_VALID,
)
from espalier.paths import JSON
from espalier.plurals import counted

_MODE_COLUMN = 2
_PAUSE_SECONDS = 1.0
"""Before a watch that has ended begins anew."""

_SHOWN_CONDITIONS = (
    NAMES_ACCEPTED,
    NON_STRUCTURAL_SCHEMA,
    STORED_OBJECTS_CURRENT,
    STORED_OBJECTS_VALID,
)


_DELETED = "(deleted)"


def listed(target: Target, choice: Chosen, *, labelled: bool) -> tuple[Result, tuple[str, ...]]:
    """
    List definitions.

    Args:
        labelled: Whether to list only those with the label of the mode.

    Returns:
        The list, and the full names of the definitions that are asked for; none for all.

    Raises:
        UsageError: A name stands for several definitions.
        EspalierError: The cluster could not be read.
    """
    return asyncio.run(_listed(target, choice, labelled=labelled))


def listed_in_each(
    terminal: Terminal, fleet: Fleet, target: Target, choice: Chosen, *, labelled: bool
) -> Result:
    """
    List the definitions of several clusters.

    A definition that a cluster does not have is only missed if no cluster has it.

    Args:
        labelled: As for ``listed``.
    """

    async def ask(one: Target) -> Result:
        result, _ = await _listed(one, choice, labelled=labelled, may_miss=True)
        return result

    targets = fleet.targets(target)
    with terminal.progress("asking clusters", total=len(targets)) as advance:
        answers = asyncio.run(ask_each(targets, ask, fleet, advance))
    return with_what_none_has(merge_results(answers, kind="StatusList"), choice.names)


async def _listed(
    target: Target, choice: Chosen, *, labelled: bool, may_miss: bool = False
) -> tuple[Result, tuple[str, ...]]:
    found = await _definitions(target, choice.selector)
    definitions = [one for one in found if isinstance(one, Definition)]
    unread = [one for one in found if isinstance(one, MalformedDefinition)]
    names = full_names_among(choice.names, definitions)
    shown = [one for one in definitions if _is_shown(one, names, labelled=labelled)]
    missing = [] if may_miss else sorted(set(names) - {one.name for one in found})
    problems = [
        Problem(source=one.name, message=str(one.error))
        for one in unread
        if not names or one.name in names
    ]
    problems += [Problem(source=name, message="the definition does not exist") for name in missing]
    return _result_of(shown, problems), names


def watch(
    terminal: Terminal,
    target: Target,
    first: Result,
    names: Sequence[str],
    selector: str,
    *,
    labelled: bool,
) -> None:
    """
    Print a list, and then each definition again whose row changes, until Ctrl-C.

    Args:
        first: The list.
        names: The full names of the definitions; none for all.
        selector: The labels of the definitions; empty for any.
        labelled: As for ``listed``.

    Raises:
        EspalierError: The cluster could not be read any more.
    """
    watching = _Watching(terminal, first)
    watching.begin()
    try:
        asyncio.run(_watch(watching, target, selector, names, labelled=labelled))
    except (KeyboardInterrupt, TimeoutError):
        # There is no other end than Ctrl-C, and the time limit of the request.
        return


class _Watching:
    """
    The rows that were printed, by the names of the definitions.
    """

    def __init__(self, terminal: Terminal, first: Result) -> None:
        (table,) = first.tables
        self._definitions = {
            row[0]: item for row, item in zip(table.rows, first.items, strict=True)
        }
        self._columns = len(table.columns)
        self._printer = terminal.row_printer(table)

    def begin(self) -> None:
        self._printer.begin([_kept(item) for item in self._definitions.values()])

    def show(self, definition: Definition) -> None:
        item = self._definitions[definition.name] = _item(definition)
        self._printer.add(_row(definition), _kept(item))

    def forget(self, name: str) -> None:
        """
        Print that a definition is not in the list any more, if it was.
        """
        item = self._definitions.pop(name, None)
        if isinstance(item, dict):
            row = [name, *["-"] * (self._columns - 2), _DELETED]
            row[_MODE_COLUMN] = _DELETED
            self._printer.add(row, item | {"deleted": True})

    def forget_all_but(self, names: Iterable[str]) -> None:
        for name in self._definitions.keys() - set(names):
            self.forget(name)


def _kept(item: JSON) -> JSON:
    return item | {"deleted": False} if isinstance(item, dict) else item


async def _watch(
    watching: _Watching,
    target: Target,
    selector: str,
    names: Sequence[str],
    *,
    labelled: bool,
) -> None:
    limit_seconds = target.request_seconds or None
    async with target.connect() as connected, asyncio.timeout(limit_seconds):
        is_fresh = False
        while True:
            try:
                events = connected.definitions.watch_definitions(label_selector=selector)
                async for type_, one in events:
                    is_fresh = True
                    if not isinstance(one, Definition) or (names and one.name not in names):
                        continue
                    if type_ != "DELETED" and _is_shown(one, names, labelled=labelled):
                        watching.show(one)
                    else:
                        watching.forget(one.name)
            except TransientError:
                # A watch that has begun may break at any time; one that never begins, does not.
                if not is_fresh:
                    raise
                is_fresh = False
            await asyncio.sleep(_PAUSE_SECONDS)
            # A watch begins with all that there is, and does not show what was deleted before.
            watching.forget_all_but(
                await connected.definitions.definition_names(label_selector=selector)
            )


def _is_shown(definition: Definition, names: Sequence[str], *, labelled: bool) -> bool:
    return (not names or definition.name in names) and (not labelled or bool(_mode(definition)))


async def _definitions(target: Target, selector: str) -> list[Definition | MalformedDefinition]:
    async with target.connect() as connected:
        listing = connected.definitions.list_definitions(label_selector=selector)
        return [one async for one in listing]


def _result_of(definitions: Sequence[Definition], problems: Sequence[Problem]) -> Result:
    columns = [
        Column(title=title)
        for title in ("DEFINITION", "STRUCTURAL", "MODE", "STORED", "CURRENT", "VALID")
    ]
    columns += [Column(title=title, is_wide=True) for title in ("STORAGE", "MESSAGE")]
    labelled = sum(bool(_mode(one)) for one in definitions)
    return Result(
        kind="StatusList",
        summary=f"{counted(len(definitions), 'definition')}, {labelled} labelled",
        findings=tuple(finding for one in definitions for finding in _conflicts(one)),
        problems=tuple(problems),
        tables=(Table(columns=columns, rows=[_row(one) for one in definitions]),),
        items=tuple(_item(one) for one in definitions),
        counts={"definitions": len(definitions), "labelled": labelled},
    )


def _conflicts(definition: Definition) -> Iterator[Finding]:
    names = definition.condition(NAMES_ACCEPTED)
    if names is not None and names.status == "False":
        yield Finding(
            level=Level.WARNING,
            rule="status/names-not-accepted",
            subject=Subject(name=definition.name),
            message=f"NamesAccepted is False, {names.reason}: {names.message}",
            hint="rename what conflicts; a short name must not be the plural or the singular",
        )


def _row(definition: Definition) -> list[str]:
    current = definition.condition(STORED_OBJECTS_CURRENT)
    return [
        definition.name,
        {True: "yes", False: "no", None: "unknown"}[_is_structural(definition)],
        _mode(definition) or "-",
        ",".join(definition.stored_versions),
        _condition_text(current),
        _condition_text(definition.condition(STORED_OBJECTS_VALID)),
        _storage(definition),
        current.message if current else "",
    ]


def _condition_text(condition: Condition | None) -> str:
    return f"{condition.status} {condition.reason}" if condition else "-"


def _mode(definition: Definition) -> str:
    mode = read_policy(definition).mode
    return "" if mode is Mode.OFF else mode.value


def _is_structural(definition: Definition) -> bool | None:
    try:
        return not crd.structural_findings(definition)
    except SchemaParseError:
        return None


def _storage(definition: Definition) -> str:
    try:
        return definition.storage.name
    except NoStorageVersionError:
        return ""


def _item(definition: Definition) -> dict[str, JSON]:
    return {
        "name": definition.name,
        "mode": _mode(definition),
        "structural": _is_structural(definition),
        "storage": _storage(definition),
        "storedVersions": list(definition.stored_versions),
        "generation": definition.generation,
        "conditions": [
            {"type": one.type, "status": one.status, "reason": one.reason, "message": one.message}
            for one in definition.conditions
            if one.type in _SHOWN_CONDITIONS
        ],
    }
