"""
Verdicts on the definitions of many files, in several processes where that is faster.

A worker gets names and gives findings: no file's content is ever held for longer than its turn.
"""

import gc
import multiprocessing
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from espalier.cli.checks.definition import DefinitionVerdict, is_definition, judge
from espalier.cli.input.files import Document, expand, read_documents
from espalier.cli.output.terminal import Advance
from espalier.cli.result import Problem, Skipped
from espalier.errors import SourceError
from espalier.paths import JSON
from espalier.plurals import counted
from espalier.schema import Profile

# A process takes half a second to start, in which one alone reads about this much.
_LEAST_BYTES = 2_000_000
_MOST_PROCESSES = 8
_OBJECTS_PER_COLLECTION = 50_000


@dataclass(frozen=True, slots=True)
class Task:
    """
    One source to be judged.

    Attributes:
        is_named: Whether the user named it, rather than a folder that it is in.
    """

    source: str
    is_named: bool


@dataclass(slots=True)
class Judged:
    """
    What one source came to, or all.
    """

    verdicts: list[DefinitionVerdict] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)

    def add(self, other: "Judged") -> None:
        """
        Take over what another one holds.
        """
        self.verdicts += other.verdicts
        self.problems += other.problems
        self.skipped += other.skipped


@dataclass(frozen=True, slots=True)
class BatchJudge:
    """
    What every source is judged by.

    Attributes:
        olds: The definitions that those in the files replace, by name; None judges them as new.
        skips_others: Whether a file that is named need not hold a definition.
    """

    profile: Profile
    olds: Mapping[str, JSON] | None = None
    skips_others: bool = field(default=False, kw_only=True)

    def judge(self, task: Task) -> Judged:
        """
        Judge the definitions of a source; never raises on what it holds.
        """
        judged = Judged()
        try:
            documents = list(read_documents(task.source))
        except SourceError as error:
            judged.problems.append(problem_of(error))
            return judged
        definitions = [document for document in documents if is_definition(document)]
        # A folder may hold other manifests as well; a file that somebody names is meant.
        if not definitions and task.is_named and not self.skips_others:
            text = _nothing_in(len(documents))
            judged.problems.append(Problem(source=task.source, message=text))
            return judged
        judged.skipped += [
            Skipped(source=document.where(), reason=f"{kind_of(document)} is no definition")
            for document in documents
            if not is_definition(document)
        ]
        for definition in definitions:
            try:
                old = self._old_of(definition)
                judged.verdicts.append(judge(definition, profile=self.profile, old=old))
            except SourceError as error:
                judged.problems.append(problem_of(error))
        return judged

    def _old_of(self, document: Document) -> JSON:
        return None if self.olds is None else self.olds.get(name_of(document.value))


def judge_sources(sources: Sequence[str], judge: BatchJudge, advance: Advance) -> Judged:
    """
    Judge all definitions in files, folders, patterns and standard input, in their order.
    """
    judged, tasks = Judged(), []
    for named in sources:
        try:
            tasks += [Task(source, source == named) for source in expand([named])]
        except SourceError as error:
            judged.problems.append(problem_of(error))
    advance(0, total=len(tasks))
    for done, part in enumerate(_parts(tasks, judge), 1):
        judged.add(part)
        advance(done)
    return judged


def problem_of(error: SourceError) -> Problem:
    """
    Turn the error of a source into what a result tells of it.
    """
    return Problem(source=error.source, message=error.detail, line=error.line)


def kind_of(document: Document) -> str:
    """
    Name what a document says that it is: ``apps/v1 Deployment``.
    """
    match document.value:
        case {"kind": str(kind), "apiVersion": str(api_version)}:
            return f"{api_version} {kind}"
        case {"kind": str(kind)}:
            return kind
        case _:
            return "what has no kind"


def name_of(manifest: JSON) -> str:
    """
    Read the name of an object; empty if it has none.
    """
    match manifest:
        case {"metadata": {"name": str(name)}}:
            return name
        case _:
            return ""


_judge_here: BatchJudge | None = None


def _begin(judge: BatchJudge) -> None:
    # Each process is told once; a task is a name then, though the old definitions are large.
    global _judge_here  # noqa: PLW0603 - there is no other way into a worker process
    _judge_here = judge
    # Schemas are large and have no cycles; looking for some as often as Python does by itself
    # takes a tenth of the time.
    gc.set_threshold(_OBJECTS_PER_COLLECTION)


def _judge_one(task: Task) -> Judged:
    assert _judge_here is not None  # noqa: S101 - the pool begins every process with it
    return _judge_here.judge(task)


def _parts(tasks: Sequence[Task], judge: BatchJudge) -> Iterator[Judged]:
    processes = _processes(tasks)
    if processes == 1:
        yield from map(judge.judge, tasks)
        return
    # Not forked: a process that already has threads must not be.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context, _begin, (judge,)) as pool:
        yield from pool.map(_judge_one, tasks)


def _processes(tasks: Sequence[Task]) -> int:
    size_bytes = sum(_size_bytes(task.source) for task in tasks)
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if size_bytes < _LEAST_BYTES or "-" in {task.source for task in tasks}:
        return 1
    return max(1, min(usable or 1, _MOST_PROCESSES, len(tasks)))


def _size_bytes(source: str) -> int:
    try:
        return Path(source).stat().st_size
    except (OSError, ValueError):
        # Whoever reads it says what is wrong with it.
        return 0


def _nothing_in(documents: int) -> str:
    wanted = "no CustomResourceDefinition of apiextensions.k8s.io"
    if not documents:
        return f"{wanted} in it: it is empty"
    return f"{wanted} among its {counted(documents, 'document')}"
