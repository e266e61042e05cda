"""
Rewrite stored objects from the command line, without the operator.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from espalier import engine
from espalier.cli.checks.definition_names import full_names
from espalier.cli.checks.rehearsal import Rehearsed, rehearsal_result
from espalier.cli.event_loop import run
from espalier.cli.label_overlay import ENFORCE, LabelOverlay, OverlaidDefinitions
from espalier.cli.operations.survey import survey_one, workers_of
from espalier.cli.options import Chosen, Target, operator_homes
from espalier.cli.output.error_exits import text_of
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
    Ports,
    Reason,
    RunOutcome,
    RunSettings,
    ShownLoss,
    Survey,
)
from espalier.engine.ports import Archive, Checkpoints, Leases, Part, Reporter, resource_of
from espalier.errors import EspalierError
from espalier.names import LOSS, MODE, NAMESPACES, RERUN_AT

_LOSSES = frozenset({Reason.WOULD_LOSE_DATA, Reason.CONVERSION_LOSES_DATA})


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrateRequest:
    """
    The arguments of the command.
    """

    again: bool
    only_failed: bool
    part: Part | None
    finish: bool
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
        if self.part is not None and self.finish:
            raise click.UsageError("give --part or --finish, not both")
        if not self.is_in_parts:
            return
        given = "--finish" if self.finish else "--part"
        if self.again:
            raise click.UsageError(
                f"--again does not go with {given}: to rewrite all objects once more, change the"
                f" annotation {RERUN_AT} of the definition before the first part"
            )
        if self.only_failed or self.namespaces:
            other = "--only-failed" if self.only_failed else "--namespace"
            raise click.UsageError(f"{other} does not go with {given}")

    @property
    def is_in_parts(self) -> bool:
        """
        Whether the definition is worked on in parts.
        """
        return self.finish or self.part is not None

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

    def accepts(self, found: Survey | None) -> bool:
        """
        Report whether the consent is to just what a survey has found.
        """
        if found is None or found.would_lose is None:
            return False
        items = frozenset(one.path for one in found.would_lose.paths)
        return bool(self.accept_loss) and ShownLoss(items, found.spent).digest == self.accept_loss

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
        is_restricted = self.only_failed or bool(self.namespaces) or self.part is not None
        return outcome.is_proved or (is_restricted and outcome.reason == Reason.PARTIAL)


def migrate(
    terminal: Terminal,
    target: Target,
    choice: Chosen,
    request: MigrateRequest,
    *,
    dry_run: bool,
    is_confirmed: bool,
) -> Result:
    """
    Rewrite the objects of definitions after confirmation, or report what would stop that.

    Raises:
        UsageError: A name stands for several definitions.
        EspalierError: The cluster could not be read.
    """
    if request.is_in_parts and dry_run:
        raise click.UsageError("--dry-run tries all objects: give it without --part and --finish")
    found = asyncio.run(_existing(target, choice))
    if request.is_in_parts and len(found) != 1:
        raise click.UsageError("--part and --finish work on one definition: give its name")
    if dry_run:
        with terminal.progress("surveying") as advance:
            return asyncio.run(_rehearse(target, request, found, advance))
    _ask(terminal, request, found, is_answered=is_confirmed)
    with terminal.progress("migrating") as advance:
        reporter = RunProgress(advance, terminal)
        return run(_migrate(target, request, found, reporter))


def _ask(
    terminal: Terminal, request: MigrateRequest, found: Sequence[str], *, is_answered: bool
) -> None:
    if found:
        what = "All stored objects" if request.again else "Stored objects that are not proved yet"
        if request.part is not None:
            what = f"Stored objects of part {request.part}"
        terminal.print_notice(f"{what} of these definitions will be rewritten: {', '.join(found)}")
        if not terminal.confirm("Continue?", is_answered=is_answered):
            click.get_current_context().exit(Exit.INCOMPLETE)


async def _existing(target: Target, choice: Chosen) -> list[str]:
    async with target.connect() as connected:
        names = await full_names(connected, choice)
        return [(await connected.definitions.get_definition(name)).name for name in names]


async def _migrate(
    target: Target, request: MigrateRequest, names: Sequence[str], reporter: RunProgress
) -> Result:
    outcomes, warnings = [], []
    async with (
        target.connect() as connected,
        workers_of(target) as workers,
    ):
        ports = replace(_ports_of(connected, target, request), workers=workers)
        run_once = _run_of(connected, target, request, ports)
        for name in names:
            definition = await ports.definitions.get_definition(name)
            warnings += await _warnings(connected, definition, request.namespaces)
            outcomes.append((name, await run_once(definition, reporter)))
    found = result_of(outcomes, is_met=request.is_met_by, warnings=warnings)
    is_loss = request.part is not None and all(one.reason in _LOSSES for _, one in outcomes)
    # A Job may try the others again; this one waits for a person.
    return replace(found, is_incomplete=False) if is_loss else found


RunOnce = Callable[[Definition, Reporter], Awaitable[RunOutcome]]


def _run_of(connected: Cluster, target: Target, request: MigrateRequest, ports: Ports) -> RunOnce:
    """
    Return what is run on each definition: a whole run, a part, or the last step after all parts.
    """
    settings, namespace = request.settings, target.operator_namespace

    def documents(number: int) -> Checkpoints:
        return connected.checkpoints(namespace, part=number)

    def leases_after(parts: int) -> Leases:
        return connected.leases_among(namespace, homes=operator_homes, after_parts=parts)

    async def run_once(definition: Definition, reporter: Reporter) -> RunOutcome:
        if request.finish:
            return await engine.finish_parts(
                definition, ports, settings, reporter, documents, leases_after
            )
        part = request.part
        work = None if part is None else engine.work_on_part(part, documents)
        return await engine.run(definition, ports, settings, reporter, work)

    return run_once


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


def _ports_of(connected: Cluster, target: Target, request: MigrateRequest) -> Ports:
    namespace = target.operator_namespace
    return Ports(
        objects=connected.objects,
        definitions=OverlaidDefinitions(connected.definitions, request.overlay),
        rights=connected.rights,
        checkpoints=connected.checkpoints(namespace),
        archive=request.archive_of(connected, namespace),
        namespace=namespace,
        leases=connected.leases_among(namespace, homes=operator_homes, part=request.part),
        clock=connected.clock,
        budget=request.budget_of(connected),
    )


async def _rehearse(
    target: Target, request: MigrateRequest, names: Sequence[str], advance: Advance
) -> Result:
    rehearsals: list[Rehearsed] = []
    warnings: list[Finding] = []
    problems: list[Problem] = []
    connection = target.connect(dry_run=True)
    async with connection as connected, workers_of(target) as workers:
        ports = engine.rehearsed(_ports_of(connected, target, request))
        ports = replace(ports, workers=workers)
        settings = replace(request.settings, is_rehearsal=True, waits_for_lease=False)
        reporter = RunProgress(advance, Terminal(is_quiet=True), is_dry=True)
        for name in names:
            outcome, found = None, None
            stored: tuple[str, ...] = ()
            try:
                found = await survey_one(connected, target, name, request.namespaces, advance)
            except EspalierError as error:
                problems.append(Problem(source=name, message=text_of(error, name)))
            try:
                definition = await ports.definitions.get_definition(name)
                stored = definition.stored_versions
                warnings += await _warnings(connected, definition, request.namespaces)
                outcome = await engine.run(definition, ports, settings, reporter)
            except EspalierError as error:
                problems.append(Problem(source=name, message=text_of(error, name)))
            rehearsals.append(
                Rehearsed(
                    name=name,
                    stored_versions=stored,
                    outcome=outcome,
                    survey=found,
                    accepts_loss=request.accepts(found),
                )
            )
    return rehearsal_result(
        rehearsals, is_met=request.is_met_by, warnings=warnings, problems=problems
    )
