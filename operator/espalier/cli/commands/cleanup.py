"""
``espalier cleanup``: remove Espalier's labels, annotations and conditions.
"""

import asyncio
from collections.abc import Sequence

import click

from espalier.cli.checks.definition_names import Chosen, chosen, full_names
from espalier.cli.options import Target, reporting, selecting, targeting
from espalier.cli.output.exit_codes import Exit
from espalier.cli.output.formats import TABULAR
from espalier.cli.output.terminal import Terminal
from espalier.cli.progress import Advance
from espalier.cli.result import Column, Problem, Result, Table
from espalier.engine import Trace, TraceRemover, find_record, find_traces
from espalier.errors import EspalierError, NotFoundError
from espalier.plurals import counted


@click.command()
@click.argument("names", nargs=-1, metavar="[CRD...]")
@click.option("--dry-run", is_flag=True, help="List what would be removed; remove nothing.")
@click.option("--yes", "is_confirmed", is_flag=True, help="Do not ask for confirmation.")
@click.option(
    "--record",
    "is_record",
    is_flag=True,
    help="Only give up the record of the named definitions; see below.",
)
@selecting
@targeting()
@reporting(formats=TABULAR, fails=False)
def cleanup(  # noqa: PLR0913 - one argument an option
    *,
    terminal: Terminal,
    target: Target,
    names: tuple[str, ...],
    selector: str,
    dry_run: bool,
    is_confirmed: bool,
    is_record: bool,
) -> None:
    """
    Remove Espalier's labels, annotations and conditions.

    Use this to uninstall Espalier. It reads the named definitions, or all of them, and all of their
    objects, lists what it has found, and asks for confirmation. Stop the operator first; otherwise
    it writes its conditions again. Data in the operator's namespace is kept: export the archive,
    then delete the namespace.

    The condition espalier.dev/Record stays while objects would lose data. --record gives the record
    up, and nothing else: if it is gone, damaged, or another operator's. The next run then leaves
    every object alone of which it cannot prove that nothing would be lost.

    \b
    Examples:
      espalier cleanup --dry-run
      espalier archive export ./archive && espalier cleanup --yes
      espalier cleanup widgets.example.com
      espalier cleanup --record widgets.example.com

    \b
    Exit codes:
      0  everything was removed, or there was nothing to remove
      2  the command line or the kubeconfig is not valid
      3  the cluster could not be read
      4  not everything was removed, or it was not confirmed
    """
    choice = chosen(names, selector)
    if is_record and not choice.names:
        raise click.UsageError("--record needs the names of definitions.")
    problems: list[Problem] = []
    with terminal.progress("reading") as advance:
        traces = asyncio.run(_find(target, choice, problems, advance, is_record=is_record))
    if dry_run or not traces:
        terminal.finish(_result_of(traces, frozenset(), problems, target, is_dry=dry_run))
    _ask(terminal, traces, is_answered=is_confirmed)
    with terminal.progress("cleaning", total=len(traces)) as advance:
        done = asyncio.run(_remove(target, traces, problems, advance, forgets=is_record))
    terminal.finish(_result_of(traces, done, problems, target, is_dry=False))


def _ask(terminal: Terminal, traces: Sequence[Trace], *, is_answered: bool) -> None:
    for trace in traces:
        terminal.print_notice(f"{trace.kind} {trace.name}: {trace.what} {', '.join(trace.names)}")
    question = f"Remove them from {counted(len(traces), 'place')}?"
    if not terminal.confirm(question, is_answered=is_answered):
        click.get_current_context().exit(Exit.INCOMPLETE)


async def _find(
    target: Target,
    choice: Chosen,
    problems: list[Problem],
    advance: Advance,
    *,
    is_record: bool,
) -> list[Trace]:
    traces: list[Trace] = []
    async with target.connect() as connected:
        definitions, objects, clock = connected.definitions, connected.objects, connected.clock
        wanted = await full_names(connected, choice)
        for done, name in enumerate(wanted):
            advance(done, total=len(wanted), text=name)
            try:
                if is_record:
                    traces += await find_record(name, definitions)
                    continue
                async for trace in find_traces(name, definitions, objects, clock):
                    traces.append(trace)
            except EspalierError as error:
                problems.append(Problem(source=name, message=str(error)))
    return traces


async def _remove(
    target: Target,
    traces: Sequence[Trace],
    problems: list[Problem],
    advance: Advance,
    *,
    forgets: bool,
) -> frozenset[int]:
    done: set[int] = set()
    async with target.connect() as connected:
        remover = TraceRemover(
            connected.definitions,
            connected.objects,
            connected.checkpoints(target.operator_namespace),
            connected.clock,
            forgets=forgets,
        )
        for number, trace in enumerate(traces):
            try:
                await remover.remove(trace)
            except NotFoundError:
                # A deleted object has no annotation any more.
                done.add(number)
            except EspalierError as error:
                problems.append(Problem(source=trace.name, message=str(error)))
            else:
                done.add(number)
            advance(number + 1)
    return frozenset(done)


def _result_of(
    traces: Sequence[Trace],
    done: frozenset[int],
    problems: Sequence[Problem],
    target: Target,
    *,
    is_dry: bool,
) -> Result:
    columns = [Column(title=title) for title in ("KIND", "NAME", "WHAT", "NAMES", "REMOVED")]
    rows = [
        [
            trace.kind,
            trace.name,
            trace.what,
            ", ".join(trace.names),
            "yes" if number in done else "no",
        ]
        for number, trace in enumerate(traces)
    ]
    summary = f"{counted(len(done), 'trace')} of {len(traces)} removed"
    if is_dry:
        summary = f"{counted(len(traces), 'trace')} to remove"
    if not traces:
        summary = "no label, annotation or condition of Espalier was found"
    stays = f"; checkpoints, leases and archives stay in namespace {target.operator_namespace}"
    return Result(
        kind="CleanupResult",
        summary=summary + stays,
        problems=tuple(problems),
        tables=(Table(columns=columns, rows=rows),),
        items=tuple(
            {
                "kind": trace.kind,
                "name": trace.name,
                "what": trace.what,
                "names": list(trace.names),
                "removed": number in done,
            }
            for number, trace in enumerate(traces)
        ),
        counts={"traces": len(traces), "removed": len(done)},
        is_incomplete=not is_dry and len(done) < len(traces),
    )
