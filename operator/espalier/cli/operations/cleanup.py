"""
Remove Espalier's labels, annotations and conditions.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import click

from espalier.cli.checks.definition_names import full_names
from espalier.cli.options import Chosen, Target
from espalier.cli.output.error_exits import text_of
from espalier.cli.output.exit_codes import Exit
from espalier.cli.output.terminal import Terminal
from espalier.cli.progress import Advance
from espalier.cli.result import Column, Problem, Result, Table
from espalier.cluster import KeptObject
from espalier.engine import Trace, TraceRemover, find_record, find_traces
from espalier.errors import EspalierError, NotFoundError
from espalier.plurals import counted

Found = Trace | KeptObject


@dataclass(frozen=True, slots=True)
class _Wanted:
    """
    What is to be removed.
    """

    choice: Chosen
    is_record: bool
    is_data: bool


def clean(  # noqa: PLR0913 - one argument an option
    terminal: Terminal,
    target: Target,
    choice: Chosen,
    *,
    is_record: bool,
    is_data: bool,
    dry_run: bool,
    is_confirmed: bool,
) -> Result:
    """
    Find the traces of Espalier, and remove them after confirmation.

    Args:
        is_record: Whether only to give up the record.
        is_data: Whether to delete the operator's data, too.
        dry_run: Whether only to list what would be removed.

    Raises:
        UsageError: A name stands for several definitions, or the options do not fit the choice.
        EspalierError: The cluster could not be read.
    """
    if is_record and not choice.names:
        raise click.UsageError("--record needs the names of definitions.")
    if is_data and (choice.names or choice.selector or is_record):
        raise click.UsageError("--data deletes the data of all definitions: name none.")
    problems: list[Problem] = []
    wanted = _Wanted(choice, is_record=is_record, is_data=is_data)
    with terminal.progress("reading") as advance:
        traces = asyncio.run(_find(target, wanted, problems, advance))
    kept = "" if is_data else target.operator_namespace
    if dry_run or not traces:
        return _result_of(traces, frozenset(), problems, kept, is_dry=dry_run)
    _ask(terminal, traces, is_answered=is_confirmed)
    with terminal.progress("cleaning", total=len(traces)) as advance:
        done = asyncio.run(_remove(target, traces, problems, advance, forgets=is_record))
    return _result_of(traces, done, problems, kept, is_dry=False)


def _ask(terminal: Terminal, traces: Sequence[Found], *, is_answered: bool) -> None:
    for trace in traces:
        text = f"{trace.what} {', '.join(trace.names)}" if trace.names else trace.what
        terminal.print_notice(f"{trace.kind} {trace.name}: {text}")
    question = f"Remove them from {counted(len(traces), 'place')}?"
    if not terminal.confirm(question, is_answered=is_answered):
        click.get_current_context().exit(Exit.INCOMPLETE)


async def _find(
    target: Target, wanted: _Wanted, problems: list[Problem], advance: Advance
) -> list[Found]:
    traces: list[Found] = []
    async with target.connect() as connected:
        definitions, objects, clock = connected.definitions, connected.objects, connected.clock
        names = await full_names(connected, wanted.choice)
        for done, name in enumerate(names):
            advance(done, total=len(names), text=name)
            try:
                if wanted.is_record:
                    traces += await find_record(name, definitions)
                    continue
                async for trace in find_traces(
                    name, definitions, objects, clock, gives_up_record=wanted.is_data
                ):
                    traces.append(trace)
            except EspalierError as error:
                problems.append(Problem(source=name, message=text_of(error, name)))
        if wanted.is_data:
            kept = connected.kept_objects(target.operator_namespace)
            traces += [one async for one in kept.list_objects()]
    return traces


async def _remove(
    target: Target,
    traces: Sequence[Found],
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
        kept = connected.kept_objects(target.operator_namespace)
        for number, trace in enumerate(traces):
            try:
                if not isinstance(trace, KeptObject):
                    await remover.remove(trace)
                elif not problems:
                    await kept.delete(trace)
                else:
                    # The data shows what may be written to the objects that are left.
                    continue
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
    traces: Sequence[Found],
    done: frozenset[int],
    problems: Sequence[Problem],
    kept: str,
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
    stays = f"; checkpoints, leases and archives stay in namespace {kept}"
    return Result(
        kind="CleanupResult",
        summary=summary + stays if kept else summary,
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
