"""
``espalier migrate``: rewrite stored objects from the command line, without the operator.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from espalier import engine
from espalier.cli.checks.definition_names import Chosen, chosen, full_names
from espalier.cli.checks.rehearsal import Rehearsed, rehearsal_result
from espalier.cli.commands.survey import survey_one, workers_of
from espalier.cli.event_loop import run
from espalier.cli.label_overlay import ENFORCE, LabelOverlay, OverlaidDefinitions
from espalier.cli.options import (
    Target,
    namespace_names,
    operator_homes,
    reporting,
    selecting,
    targeting,
)
from espalier.cli.output.exit_codes import Exit
from espalier.cli.output.migration_result import result_of
from espalier.cli.output.run_progress import RunProgress
from espalier.cli.output.terminal import Terminal
from espalier.cli.progress import Advance
from espalier.cli.result import Finding, Level, Problem, Result, Subject
from espalier.cluster import Cluster, FolderArchive
from espalier.crd import Definition
from espalier.engine import (
    Budget,
    Counts,
    Ports,
    Reason,
    RunOutcome,
    RunSettings,
    ShownLoss,
    is_digest,
)
from espalier.engine.ports import Archive, resource_of
from espalier.errors import EspalierError
from espalier.handlers.settings import Settings
from espalier.names import LOSS, MODE, NAMESPACES


@dataclass(frozen=True, slots=True, kw_only=True)
class _MigrateRequest:
    """
    The arguments of the command.
    """

    again: bool
    only_failed: bool
    accept_loss: str | None
    namespaces: tuple[str, ...]
    settle_seconds: float
    archive_folder: Path | None
    archive_max_bytes: int
    max_bytes_per_second: int
    max_writes_per_second: float
    max_in_flight: int

    def __post_init__(self) -> None:
        if self.again and self.only_failed:
            raise click.UsageError("give --again or --only-failed, not both")

    @property
    def settings(self) -> RunSettings:
        """
        The settings of the runs.
        """
        return RunSettings(
            settle_seconds=self.settle_seconds,
            max_in_flight=self.max_in_flight,
            again=self.again,
            only_failed=self.only_failed,
            waits_for_lease=True,
        )

    @property
    def overlay(self) -> LabelOverlay:
        """
        The labels and annotations that the definitions are treated as if they had.
        """
        labels = {MODE: ENFORCE} | ({LOSS: self.accept_loss} if self.accept_loss else {})
        restricting = {NAMESPACES: ",".join(self.namespaces)}
        return LabelOverlay(labels=labels, annotations=restricting if self.namespaces else {})

    def accepts(self, would_lose: Counts) -> bool:
        """
        Report whether the consent is to just what a survey has found.
        """
        items = frozenset(one.path for one in would_lose.paths)
        return bool(self.accept_loss) and ShownLoss(items).digest == self.accept_loss

    def archive_of(self, connected: Cluster, namespace: str) -> Archive:
        """
        Return the archive for pruned data.
        """
        most = self.archive_max_bytes
        if self.archive_folder is not None:
            return FolderArchive(self.archive_folder, max_total_bytes=most)
        return connected.archive(namespace, max_total_bytes=most)

    def budget_of(self, connected: Cluster) -> Budget:
        """
        Make what the runs on all definitions share.
        """
        return Budget(
            connected.clock,
            bytes_per_second=self.max_bytes_per_second,
            writes_per_second=self.max_writes_per_second or None,
            max_in_flight=self.max_in_flight,
        )

    def is_met_by(self, outcome: RunOutcome) -> bool:
        """
        Report whether a run did everything that was asked for.
        """
        is_restricted = self.only_failed or bool(self.namespaces)
        return outcome.is_proved or (is_restricted and outcome.reason == Reason.PARTIAL)


def _check_digest(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value is not None and not is_digest(value):
        raise click.BadParameter(
            "give the digest that the message WouldLoseData shows, of 16 hexadecimal digits"
        )
    return value


@click.command()
@click.argument("names", nargs=-1, metavar="CRD...")
@selecting
@click.option(
    "--dry-run",
    is_flag=True,
    help="Report what would stop the migration: the server tries each write, and keeps none.",
)
@click.option("--yes", "is_confirmed", is_flag=True, help="Do not ask for confirmation.")
@click.option(
    "--again",
    is_flag=True,
    help="Rewrite also what is proved already, as after the rotation of an encryption key.",
)
@click.option(
    "--only-failed",
    is_flag=True,
    help="Rewrite only objects that failed in the last run; storedVersions stays.",
)
@click.option(
    "--accept-loss",
    metavar="DIGEST",
    callback=_check_digest,
    help="Consent to the loss that was shown under this digest.",
)
@click.option(
    "-n",
    "--namespace",
    "namespaces",
    multiple=True,
    metavar="NAME",
    callback=namespace_names,
    help="Rewrite only objects in this namespace; storedVersions stays.",
)
@click.option(
    "--settle-seconds",
    type=click.FloatRange(0, 3600),
    default=Settings().settle_seconds,
    show_default=True,
    help="How long a definition must be unchanged before the final check.",
)
@click.option(
    "--archive-folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Archive pruned data in this folder, not in Secrets of the cluster.",
)
@click.option(
    "--archive-max-bytes",
    type=click.IntRange(1024, 1024**3),
    default=Settings().archive_max_bytes,
    show_default=True,
    help="The maximum size of all archives of pruned data together.",
)
@click.option(
    "--max-bytes-per-second",
    type=click.IntRange(1024, 1024**3),
    default=Settings().max_bytes_per_second,
    show_default=True,
    help="The maximum number of bytes written in a second, for all CRDs together.",
)
@click.option(
    "--max-writes-per-second",
    type=click.FloatRange(0, 100_000),
    default=Settings().max_writes_per_second,
    show_default=True,
    help="The maximum write rate; 0 sets no limit.",
)
@click.option(
    "--max-in-flight",
    type=click.IntRange(1, 256),
    default=Settings().max_in_flight,
    show_default=True,
    help="The maximum number of rewrites at the same time.",
)
@targeting(examines=True)
@reporting()
def migrate(
    *,
    terminal: Terminal,
    target: Target,
    names: tuple[str, ...],
    selector: str,
    dry_run: bool,
    is_confirmed: bool,
    **arguments: Any,
) -> None:
    """
    Rewrite stored objects, check that all are current, and trim storedVersions.

    Does what the operator does for a definition with the label espalier.dev/mode=enforce, but with
    your own permissions. Every stored object is rewritten at the storage version. No label and no
    condition is written. If stored data would be lost, the migration stops before its first write.
    With --dry-run the same run is made, and the API server tries each write and keeps none: what
    it reports, the migration does, as long as nothing changes meanwhile.

    The operator and this command use the same lease, so that only one of them works on a
    definition at a time; the command waits for a lease that a killed process has left. To stop it,
    press Ctrl-C, or change the label espalier.dev/mode. The same command continues a stopped run.

    \b
    Examples:
      espalier migrate widgets.example.com --dry-run
      espalier migrate widgets.example.com
      espalier migrate widgets.example.com --only-failed --yes
      espalier migrate widgets.example.com --again
      espalier migrate -l team=web --dry-run

    \b
    Exit codes:
      0  all objects are proved to be current (with --dry-run: nothing would stop the migration;
         with --only-failed or --namespace: the chosen objects are rewritten)
      1  with --dry-run: data would be lost, or something would stop the migration
      2  the command line or the kubeconfig is not valid
      3  the cluster could not be read
      4  the migration stopped, or another process holds the lease; the output gives the reason
         (with --dry-run: some objects could not be read, or writes could not be tried)
    """
    request = _MigrateRequest(**arguments)
    found = _choose(target, names, selector)
    if dry_run:
        with terminal.progress("surveying") as advance:
            terminal.finish(asyncio.run(_rehearse(target, request, found, advance)))
    _ask(terminal, request, found, is_answered=is_confirmed)
    with terminal.progress("migrating") as advance:
        reporter = RunProgress(advance, terminal)
        terminal.finish(run(_migrate(target, request, found, reporter)))


def _ask(
    terminal: Terminal, request: _MigrateRequest, found: Sequence[str], *, is_answered: bool
) -> None:
    if found:
        what = "All stored objects" if request.again else "Stored objects that are not proved yet"
        terminal.print_notice(f"{what} of these definitions will be rewritten: {', '.join(found)}")
        if not terminal.confirm("Continue?", is_answered=is_answered):
            click.get_current_context().exit(Exit.INCOMPLETE)


def _choose(target: Target, names: Sequence[str], selector: str) -> list[str]:
    return asyncio.run(_existing(target, chosen(names, selector, is_required=True)))


async def _existing(target: Target, choice: Chosen) -> list[str]:
    async with target.connect() as connected:
        names = await full_names(connected, choice)
        return [(await connected.definitions.get_definition(name)).name for name in names]


async def _migrate(
    target: Target, request: _MigrateRequest, names: Sequence[str], reporter: RunProgress
) -> Result:
    outcomes, warnings = [], []
    async with (
        target.connect() as connected,
        workers_of(target) as workers,
    ):
        ports = replace(_ports_of(connected, target, request), workers=workers)
        for name in names:
            definition = await ports.definitions.get_definition(name)
            warnings += await _warnings(connected, definition, request.namespaces)
            outcomes.append((name, await engine.run(definition, ports, request.settings, reporter)))
    return result_of(outcomes, is_met=request.is_met_by, warnings=warnings)


async def _warnings(
    connected: Cluster, definition: Definition, namespaces: Sequence[str]
) -> list[Finding]:
    """
    Return a warning for each chosen namespace without objects: its name may be misspelt.
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
            # The run reports the error; here it is only unknown whether the namespace is empty.
            continue
        if not page.objects:
            empty.append(namespace)
    return [
        Finding(
            level=Level.WARNING,
            rule="migrate/empty-namespace",
            subject=Subject(name=definition.name),
            message=f"the namespace {namespace} has no such object; check its name",
        )
        for namespace in empty
    ]


def _ports_of(connected: Cluster, target: Target, request: _MigrateRequest) -> Ports:
    namespace = target.operator_namespace
    return Ports(
        objects=connected.objects,
        definitions=OverlaidDefinitions(connected.definitions, request.overlay),
        rights=connected.rights,
        checkpoints=connected.checkpoints(namespace),
        archive=request.archive_of(connected, namespace),
        namespace=namespace,
        leases=connected.leases_among(namespace, homes=operator_homes),
        clock=connected.clock,
        budget=request.budget_of(connected),
    )


async def _rehearse(
    target: Target, request: _MigrateRequest, names: Sequence[str], advance: Advance
) -> Result:
    rehearsals: list[Rehearsed] = []
    warnings: list[Finding] = []
    problems: list[Problem] = []
    connection = target.connect(dry_run=True)
    async with connection as connected, workers_of(target) as workers:
        ports = engine.rehearsed(_ports_of(connected, target, request))
        ports = replace(ports, workers=workers)
        settings = replace(request.settings, is_rehearsal=True, waits_for_lease=False)
        reporter = RunProgress(advance, Terminal(is_quiet=True))
        for name in names:
            outcome, found = None, None
            stored: tuple[str, ...] = ()
            try:
                found = await survey_one(connected, target, name, request.namespaces, advance)
            except EspalierError as error:
                problems.append(Problem(source=name, message=str(error)))
            try:
                definition = await ports.definitions.get_definition(name)
                stored = definition.stored_versions
                warnings += await _warnings(connected, definition, request.namespaces)
                outcome = await engine.run(definition, ports, settings, reporter)
            except EspalierError as error:
                problems.append(Problem(source=name, message=str(error)))
            lost = found.would_lose if found is not None else None
            accepts = lost is not None and request.accepts(lost)
            rehearsals.append(
                Rehearsed(
                    name=name,
                    stored_versions=stored,
                    outcome=outcome,
                    survey=found,
                    accepts_loss=accepts,
                )
            )
    return rehearsal_result(
        rehearsals, is_met=request.is_met_by, warnings=warnings, problems=problems
    )
