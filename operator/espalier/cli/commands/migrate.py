"""
``espalier migrate``: the engine from the shell.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from espalier import cluster, engine
from espalier.cli.commands.survey import survey_one
from espalier.cli.event_loop import run
from espalier.cli.label_overlay import ENFORCE, Marks, Relabelled
from espalier.cli.options import Target, operator_homes, reporting, targeting
from espalier.cli.output.exit_codes import Exit
from espalier.cli.output.migration_result import result_of
from espalier.cli.output.run_progress import OnScreen
from espalier.cli.output.survey_result import counts_of, findings_of, survey_table
from espalier.cli.output.terminal import Advance, Terminal
from espalier.cli.result import Finding, Level, Problem, Result, Subject
from espalier.cluster import Cluster, FolderArchive
from espalier.crd import Definition
from espalier.engine import Ports, Reason, RunOutcome, RunSettings, Stop, read_policy
from espalier.engine.ports.archive import Archive
from espalier.engine.ports.records import resource_of
from espalier.errors import EspalierError
from espalier.handlers.settings import Settings
from espalier.names import LOSS, MODE, NAMESPACES
from espalier.plurals import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class _MigrateRequest:
    """
    What was asked for: the arguments of the command.
    """

    names: tuple[str, ...]
    only_failed: bool
    accept_loss: bool
    namespaces: tuple[str, ...]
    settle_seconds: float
    archive_folder: Path | None
    archive_max_bytes: int
    max_writes_per_second: float
    max_in_flight: int

    @property
    def settings(self) -> RunSettings:
        """
        How the runs go about their work.
        """
        return RunSettings(
            settle_seconds=self.settle_seconds,
            max_in_flight=self.max_in_flight,
            writes_per_second=self.max_writes_per_second or None,
            only_failed=self.only_failed,
            waits_for_lease=True,
        )

    @property
    def marks(self) -> Marks:
        """
        What the definitions are treated as if they had it.
        """
        labels = {MODE: ENFORCE} | ({LOSS: "accept"} if self.accept_loss else {})
        restricting = {NAMESPACES: ",".join(self.namespaces)}
        return Marks(labels=labels, annotations=restricting if self.namespaces else {})

    def archive_of(self, connected: Cluster, namespace: str) -> Archive:
        """
        Make the archive for what is pruned.
        """
        most = self.archive_max_bytes
        if self.archive_folder is not None:
            return FolderArchive(self.archive_folder, max_total_bytes=most)
        return connected.archive(namespace, max_total_bytes=most)

    def is_met_by(self, outcome: RunOutcome) -> bool:
        """
        Whether a run did all that was asked for.
        """
        is_restricted = self.only_failed or bool(self.namespaces)
        return outcome.is_proved or (is_restricted and outcome.reason == Reason.PARTIAL)


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
@click.option(
    "--max-writes-per-second",
    type=click.FloatRange(0, 100_000),
    default=Settings().max_writes_per_second,
    show_default=True,
    help="The most writes; 0 for no bound of ours.",
)
@click.option(
    "--max-in-flight",
    type=click.IntRange(1, 256),
    default=Settings().max_in_flight,
    show_default=True,
    help="The most rewrites at a time.",
)
@targeting()
@reporting()
def migrate(
    *,
    terminal: Terminal,
    target: Target,
    dry_run: bool,
    is_confirmed: bool,
    **asked: Any,
) -> None:
    """
    Rewrite stored objects, prove it, and trim storedVersions.

    Rewrites all of them at the storage version, as the operator does for a definition labelled
    espalier.dev/mode=enforce, with your own rights, and writes no label and no condition. It stops
    before the first write where stored data would be lost. The lease is the operator's: two never
    work on one definition at a time, and what a killed process has left of it is waited for. Ctrl-C
    ends it at any moment, and so does whoever takes the label off meanwhile or sets it to observe;
    the same command goes on where it was.

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
    request = _MigrateRequest(**asked)
    chosen = asyncio.run(_choose(target, request))
    if dry_run:
        with terminal.progress("surveying") as advance:
            result = asyncio.run(_rehearse(target, request, chosen, advance))
    else:
        _ask(terminal, chosen, is_answered=is_confirmed)
        with terminal.progress("migrating") as advance:
            reporter = OnScreen(advance, terminal)
            result = run(_migrate(target, request, chosen, reporter))
    terminal.finish(result)


def _ask(terminal: Terminal, chosen: Sequence[str], *, is_answered: bool) -> None:
    if chosen:
        terminal.tell(f"All stored objects will be rewritten of: {', '.join(chosen)}")
        if not terminal.confirm("Go on?", is_answered=is_answered):
            click.get_current_context().exit(Exit.INCOMPLETE)


async def _choose(target: Target, request: _MigrateRequest) -> list[str]:
    async with cluster.connect(target.kubeconfig, context=target.context) as connected:
        return [(await connected.definitions.get_definition(name)).name for name in request.names]


async def _migrate(
    target: Target, request: _MigrateRequest, names: Sequence[str], reporter: OnScreen
) -> Result:
    outcomes, warnings = [], []
    async with cluster.connect(target.kubeconfig, context=target.context) as connected:
        ports = _ports_of(connected, target, request)
        for name in names:
            definition = await ports.definitions.get_definition(name)
            warnings += await _warnings(connected, definition, request.namespaces)
            outcomes.append((name, await engine.run(definition, ports, request.settings, reporter)))
    return result_of(outcomes, is_met=request.is_met_by, warnings=warnings)


async def _warnings(
    connected: Cluster, definition: Definition, namespaces: Sequence[str]
) -> list[Finding]:
    """
    Name the namespaces that were asked for and hold nothing: perhaps they are misspelt.
    """
    empty = []
    for namespace in namespaces if definition.namespaced else ():
        try:
            page = await connected.objects.list_metadata(
                resource_of(definition, definition.storage),
                page_size=1,
                continue_token=None,
                namespace=namespace,
            )
        except EspalierError:
            # What is the matter is for the run to say; that nothing is there is not known.
            continue
        if not page.objects:
            empty.append(namespace)
    return [
        Finding(
            level=Level.WARNING,
            rule="migrate/empty-namespace",
            subject=Subject(name=definition.name),
            message=f"the namespace {namespace} has no such object; is it spelt right?",
        )
        for namespace in empty
    ]


def _ports_of(connected: Cluster, target: Target, request: _MigrateRequest) -> Ports:
    namespace = target.operator_namespace
    return Ports(
        objects=connected.objects,
        definitions=Relabelled(connected.definitions, request.marks),
        rights=connected.rights,
        checkpoints=connected.checkpoints(namespace),
        archive=request.archive_of(connected, namespace),
        namespace=namespace,
        leases=connected.leases_among(namespace, homes=operator_homes),
        clock=connected.clock,
    )


async def _rehearse(
    target: Target, request: _MigrateRequest, names: Sequence[str], advance: Advance
) -> Result:
    surveys, findings, problems = [], [], []
    async with cluster.connect(target.kubeconfig, context=target.context) as connected:
        definitions = Relabelled(connected.definitions, request.marks)
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
            findings += await _warnings(connected, definition, request.namespaces)
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


def _as_loss(finding: Finding, request: _MigrateRequest) -> Finding:
    """
    Take for an error only what a migration stops at.
    """
    stops = {"survey/loss", "survey/unprovable", "survey/emptied"}
    if finding.level is not Level.ERROR or (finding.rule in stops and not request.accept_loss):
        return finding
    return replace(finding, level=Level.WARNING)
