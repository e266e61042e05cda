"""
``espalier migrate``: the engine from the shell.
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from espalier import cluster, engine
from espalier.cli.exits import Exit
from espalier.cli.options import Target, reporting, targeting
from espalier.cli.results import Finding, Level, Problem, Result, Subject, counted
from espalier.cli.runs import result_of
from espalier.cli.surveying import survey_one
from espalier.cli.surveys import counts_of, findings_of, survey_table
from espalier.cli.terminal import Advance, Terminal
from espalier.cluster import Cluster, FolderArchive
from espalier.crd import Condition, Definition
from espalier.engine import Outcome, Ports, Reason, RunSettings, Stop, read_policy
from espalier.engine.policies import PREFIX
from espalier.engine.ports import Archive, Definitions
from espalier.errors import EspalierError
from espalier.handlers.settings import Settings

# The engine reports for people; a bar needs the numbers in what it says.
_CLAUSE = re.compile("[:;,]")
_PHASE_CHARACTERS = 24
_PROGRESS = re.compile(r"(\d+)(?: of (\d+))? objects")


@dataclass(frozen=True, slots=True)
class _Request:
    """
    What was asked for.
    """

    names: tuple[str, ...]
    namespaces: tuple[str, ...]
    only_failed: bool
    accepts_loss: bool
    settle_seconds: float
    archive_folder: Path | None
    archive_max_bytes: int

    @property
    def labels(self) -> dict[str, str]:
        """
        The labels that the definitions are treated as if they had.
        """
        wanted = {f"{PREFIX}mode": "enforce"}
        return wanted | ({f"{PREFIX}loss": "accept"} if self.accepts_loss else {})

    def archive_of(self, connected: Cluster, namespace: str) -> Archive:
        """
        Make the archive for what is pruned.
        """
        most = self.archive_max_bytes
        if self.archive_folder is not None:
            return FolderArchive(self.archive_folder, max_total_bytes=most)
        return connected.archive(namespace, max_total_bytes=most)

    def is_met_by(self, outcome: Outcome) -> bool:
        """
        Whether a run did all that was asked for.
        """
        is_restricted = self.only_failed or bool(self.namespaces)
        return outcome.is_proved or (is_restricted and outcome.reason == Reason.PARTIAL)

    @property
    def annotations(self) -> dict[str, str]:
        if not self.namespaces:
            return {}
        return {f"{PREFIX}namespaces": ",".join(self.namespaces)}


class _Relabelled:
    """
    Definitions as they would be if somebody had labelled them; nothing is written for that.

    Implements ``espalier.engine.ports.Definitions``.
    """

    def __init__(self, definitions: Definitions, request: _Request) -> None:
        self._definitions = definitions
        self._request = request

    async def get_definition(self, name: str) -> Definition:
        return self._relabelled(await self._definitions.get_definition(name))

    async def get_resource_version(self, name: str) -> str:
        return await self._definitions.get_resource_version(name)

    async def set_stored_versions(
        self, definition: Definition, versions: Sequence[str]
    ) -> Definition:
        return self._relabelled(await self._definitions.set_stored_versions(definition, versions))

    async def apply_conditions(
        self, definition: Definition, conditions: Sequence[Condition], *, field_manager: str
    ) -> None:
        await self._definitions.apply_conditions(
            definition, conditions, field_manager=field_manager
        )

    async def other_migrations(self, definition: Definition) -> tuple[str, ...]:
        return await self._definitions.other_migrations(definition)

    def _relabelled(self, definition: Definition) -> Definition:
        return replace(
            definition,
            labels={**definition.labels, **self._request.labels},
            annotations={**definition.annotations, **self._request.annotations},
        )


class _OnScreen:
    """
    Shows how a run goes; implements ``espalier.engine.ports.Reporter``.

    Conditions are the operator's to write: a definition that nobody labelled gets none.
    """

    def __init__(self, advance: Advance, terminal: Terminal) -> None:
        self._advance = advance
        self._terminal = terminal
        self._told = ""
        self._done = 0

    async def report(self, definition: Definition, conditions: Sequence[Condition]) -> None:
        current = conditions[0]
        found = _PROGRESS.search(current.message) if current.reason == Reason.REWRITING else None
        total = None
        if found is not None:
            self._done, total = int(found[1]), int(found[2]) if found[2] else None
        phase = _CLAUSE.split(current.message, maxsplit=1)[0][:_PHASE_CHARACTERS]
        self._advance(self._done, total=total, text=f"{definition.name}: {phase}")
        if self._terminal.verbosity and current.message != self._told:
            self._terminal.tell(f"{definition.name}: {current.reason}: {current.message}")
        self._told = current.message


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="CRD...")
@click.option("--dry-run", is_flag=True, help="Survey, and say what would stop; write nothing.")
@click.option("--yes", "is_confirmed", is_flag=True, help="Do not ask.")
@click.option(
    "--only-failed",
    is_flag=True,
    help="Only objects that failed in the last run; proves and trims nothing.",
)
@click.option("--accept-loss", is_flag=True, help="Go on although stored data would be lost.")
@click.option(
    "-n",
    "--namespace",
    "namespaces",
    multiple=True,
    metavar="NAME",
    help="Only objects of this namespace; storedVersions is not trimmed then.",
)
@click.option(
    "--settle-seconds",
    type=click.FloatRange(0, 3600),
    default=Settings().settle_seconds,
    show_default=True,
    help="So long is a definition unchanged before the pass that proves it.",
)
@click.option(
    "--archive-folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Archive what is pruned in a folder, not in Secrets of the cluster.",
)
@click.option(
    "--archive-max-bytes",
    type=click.IntRange(1024, 1024**3),
    default=Settings().archive_max_bytes,
    show_default=True,
    help="The most bytes that the archives of removed data take together.",
)
@targeting()
@reporting()
def migrate(  # noqa: PLR0913 - one argument an option
    *,
    terminal: Terminal,
    target: Target,
    names: tuple[str, ...],
    dry_run: bool,
    is_confirmed: bool,
    only_failed: bool,
    accept_loss: bool,
    namespaces: tuple[str, ...],
    settle_seconds: float,
    archive_folder: Path | None,
    archive_max_bytes: int,
) -> None:
    """
    Rewrite stored objects, prove it, and trim storedVersions.

    Rewrites all of them at the storage version, as the operator does for a definition labelled
    espalier.dev/mode=enforce, with your own rights, and writes no label and no condition. It stops
    before the first write where stored data would be lost. The lease is the operator's: two never
    work on one definition at a time, and what a killed process has left of it is waited for. Ctrl-C
    ends it at any moment; the same command goes on where it was.

    \b
    Examples:
      espalier migrate widgets.example.com --dry-run
      espalier migrate widgets.example.com
      espalier migrate widgets.example.com --only-failed --yes

    \b
    Exit codes:
      0  all objects are proved to be current (with --dry-run: nothing would stop it; with
         --only-failed or --namespace: what was asked for is done)
      1  with --dry-run: something would be lost or stop it
      2  the command line or the kubeconfig makes no sense
      3  the cluster could not be read
      4  it stopped, or somebody else is at work: the output says why
    """
    request = _Request(
        names,
        namespaces,
        only_failed,
        accept_loss,
        settle_seconds,
        archive_folder,
        archive_max_bytes,
    )
    chosen = asyncio.run(_choose(target, request))
    if dry_run:
        with terminal.progress("surveying") as advance:
            result = asyncio.run(_rehearse(target, request, chosen, advance))
    else:
        _ask(terminal, chosen, is_answered=is_confirmed)
        with terminal.progress("migrating") as advance:
            reporter = _OnScreen(advance, terminal)
            outcomes = asyncio.run(_migrate(target, request, chosen, reporter))
            result = result_of(outcomes, is_met=request.is_met_by)
    terminal.finish(result)


def _ask(terminal: Terminal, chosen: Sequence[str], *, is_answered: bool) -> None:
    if chosen:
        terminal.tell(f"All stored objects will be rewritten of: {', '.join(chosen)}")
        if not terminal.confirm("Go on?", is_answered=is_answered):
            click.get_current_context().exit(Exit.INCOMPLETE)


async def _choose(target: Target, request: _Request) -> list[str]:
    async with cluster.connect(target.kubeconfig, context=target.context) as connected:
        return [(await connected.definitions.get_definition(name)).name for name in request.names]


async def _migrate(
    target: Target, request: _Request, names: Sequence[str], reporter: _OnScreen
) -> list[tuple[str, Outcome]]:
    outcomes = []
    async with cluster.connect(target.kubeconfig, context=target.context) as connected:
        ports = _ports_of(connected, target, request)
        settings = RunSettings(
            settle_seconds=request.settle_seconds,
            only_failed=request.only_failed,
            waits_for_lease=True,
        )
        for name in names:
            definition = await ports.definitions.get_definition(name)
            outcomes.append((name, await engine.run(definition, ports, settings, reporter)))
    return outcomes


def _ports_of(connected: Cluster, target: Target, request: _Request) -> Ports:
    namespace = target.operator_namespace
    return Ports(
        objects=connected.objects,
        definitions=_Relabelled(connected.definitions, request),
        rights=connected.rights,
        checkpoints=connected.checkpoints(namespace),
        archive=request.archive_of(connected, namespace),
        namespace=namespace,
        leases=connected.leases_anywhere(namespace),
        clock=connected.clock,
    )


async def _rehearse(
    target: Target, request: _Request, names: Sequence[str], advance: Advance
) -> Result:
    surveys, findings, problems = [], [], []
    async with cluster.connect(target.kubeconfig, context=target.context) as connected:
        definitions = _Relabelled(connected.definitions, request)
        for name in names:
            definition = await definitions.get_definition(name)
            stop = engine.plan(definition, read_policy(definition))
            if isinstance(stop, Stop):
                text = f"it would stop with {stop.reason}: {stop.message}"
                rule = f"migrate/{stop.reason}"
                subject = Subject(name=name)
                findings.append(
                    Finding(level=Level.ERROR, rule=rule, subject=subject, message=text)
                )
            try:
                found = await survey_one(connected, target, name, request.namespaces, advance)
            except EspalierError as error:
                problems.append(Problem(source=name, message=str(error)))
                continue
            surveys.append(found)
            findings += [
                _as_loss(finding, request)
                for finding in findings_of(found, counts_of(found), is_plan=False)
            ]
    counts = [counts_of(found) for found in surveys]
    stops = sum(finding.level is Level.ERROR for finding in findings)
    objects = sum(found.objects for found in surveys)
    told = f"{counted(len(surveys), 'definition')}, {counted(objects, 'stored object')}"
    return Result(
        kind="MigrateResult",
        summary=f"{told}; nothing was written; {_hindrances(stops)}",
        findings=tuple(findings),
        problems=tuple(problems),
        subjects=tuple(Subject(name=found.crd) for found in surveys),
        tables=(survey_table(surveys, counts, is_plan=False),),
        counts={"definitions": len(names), "objects": objects},
    )


def _hindrances(stops: int) -> str:
    return f"{counted(stops, 'reason')} to stop" if stops else "nothing would stop a migration"


def _as_loss(finding: Finding, request: _Request) -> Finding:
    """
    Take for an error only what a migration stops at.
    """
    stops = {"survey/loss", "survey/unprovable", "survey/emptied"}
    if finding.level is not Level.ERROR or (finding.rule in stops and not request.accepts_loss):
        return finding
    return replace(finding, level=Level.WARNING)
