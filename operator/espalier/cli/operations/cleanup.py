"""
Remove Espalier's labels, annotations and conditions.
"""

import asyncio
from collections.abc import Sequence

import click

from espalier.cli.checks.definition_names import full_names
from espalier.cli.options import Chosen, Target
from espalier.cli.output.exit_codes import Exit
from espalier.cli.output.terminal import Terminal
from espalier.cli.progress import Advance
from espalier.cli.result import Column, Problem, Result, Table
from espalier.engine import Trace, TraceRemover, find_record, find_traces
from espalier.errors import EspalierError, NotFoundError
from espalier.plurals import counted


def clean(
    terminal: Terminal,
    target: Target,
    choice: Chosen,
    *,
    is_record: bool,
    dry_run: bool,
    is_confirmed: bool,
) -> Result:
    """
    Find the traces of Espalier, and remove them after confirmation.

    Args:
        is_record: Whether only to give up the record.
        dry_run: Whether only to list what would be removed.

    Raises:
        UsageError: A name stands for several definitions.
        EspalierError: The cluster could not be read.
    """
    problems: list[Problem] = []
    with terminal.progress("reading") as advance:
        traces = asyncio.run(_find(target, choice, problems, advance, is_record=is_record))
    if dry_run or not traces:
        return _result_of(traces, frozenset(), problems, target, is_dry=dry_run)
    _ask(terminal, traces, is_answered=is_confirmed)
    with terminal.progress("cleaning", total=len(traces)) as advance:
        done = asyncio.run(_remove(target, traces, problems, advance, forgets=is_record))
    return _result_of(traces, done, problems, target, is_dry=False)


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
