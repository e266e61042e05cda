"""
``espalier status``: list definitions with the state of their objects.
"""

import asyncio
from collections.abc import Iterator, Sequence

import click

from espalier import cluster, crd
from espalier.cli.options import Target, reporting, targeting
from espalier.cli.output.formats import TABULAR
from espalier.cli.output.terminal import Terminal
from espalier.cli.result import Column, Finding, Level, Problem, Result, Subject, Table
from espalier.cluster import MalformedDefinition
from espalier.crd import Condition, Definition
from espalier.engine import Mode, read_policy
from espalier.errors import NoStorageVersionError, SchemaParseError
from espalier.names import (
    NAMES_ACCEPTED,
    NON_STRUCTURAL_SCHEMA,
    STORED_OBJECTS_CURRENT,
    STORED_OBJECTS_VALID,
)
from espalier.paths import JSON
from espalier.plurals import counted

_SHOWN_CONDITIONS = (
    NAMES_ACCEPTED,
    NON_STRUCTURAL_SCHEMA,
    STORED_OBJECTS_CURRENT,
    STORED_OBJECTS_VALID,
)


@click.command()
@click.argument("names", nargs=-1, metavar="[CRD...]")
@click.option("--labelled", is_flag=True, help="Only definitions with the label espalier.dev/mode.")
@targeting(keeps=False)
@reporting(formats=TABULAR, fails=False)
def status(*, terminal: Terminal, target: Target, names: tuple[str, ...], labelled: bool) -> None:
    """
    List definitions: are they structural, and are their objects current and valid?

    CURRENT shows status and reason of the condition espalier.dev/StoredObjectsCurrent, VALID those
    of espalier.dev/StoredObjectsValid. -o wide shows the message of CURRENT too. A definition whose
    names are not accepted gets a warning: API servers serve it under its old names.

    \b
    Examples:
      espalier status
      espalier status --labelled -o wide
      espalier status widgets.example.com -o json

    \b
    Exit codes:
      0  the definitions are listed
      2  the command line or the kubeconfig is not valid
      3  the cluster or one of its definitions could not be read
    """
    found = asyncio.run(_definitions(target, names))
    definitions = [one for one in found if isinstance(one, Definition)]
    shown = [one for one in definitions if not labelled or _mode(one)]
    missing = sorted(set(names) - {one.name for one in found})
    problems = [
        Problem(source=one.name, message=str(one.error))
        for one in found
        if isinstance(one, MalformedDefinition)
    ]
    problems += [Problem(source=name, message="the definition does not exist") for name in missing]
    terminal.finish(_result_of(shown, problems))


async def _definitions(
    target: Target, names: Sequence[str]
) -> list[Definition | MalformedDefinition]:
    async with cluster.connect(target.kubeconfig, context=target.context) as connected:
        return [
            one
            async for one in connected.definitions.list_definitions()
            if not names or one.name in names
        ]


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


def _item(definition: Definition) -> JSON:
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
