"""
Check the definitions of many files, in several processes where that is faster.

A worker process receives file names and returns findings, so that only the file at hand is in
memory.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from espalier.cli.checks.definition import DefinitionVerdict, judge
from espalier.cli.checks.documents import (
    is_definition,
    kind_of,
    name_of,
    problem_in,
    problem_of,
)
from espalier.cli.collector import collect_seldom
from espalier.cli.input.files import Document, expand, read_documents
from espalier.cli.progress import Advance
from espalier.cli.result import Problem, Skipped
from espalier.crd.changes.change import ChangePolicy
from espalier.errors import SourceError
from espalier.paths import JSON
from espalier.plurals import counted
from espalier.schema import Profile

# A process takes half a second to start; a single process reads about this much in that time.
_LEAST_BYTES = 2_000_000
_MOST_PROCESSES = 8


class Task(Struct, frozen=True):
    """
    One source to check.

    Attributes:
        is_named: Whether the user named the file itself, and not a folder or a pattern.
    """

    source: str
    is_named: bool


class BatchResult(Struct):
    """
    The verdicts on the definitions of one source, or of all of them.
    """

    verdicts: list[DefinitionVerdict] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)

    def add(self, other: "BatchResult") -> None:
        """
        Add the contents of another result.
        """
        self.verdicts += other.verdicts
        self.problems += other.problems
        self.skipped += other.skipped


class BatchJudge(Struct, frozen=True):
    """
    Check sources by one profile.

    Attributes:
        olds: The definitions that those in the files replace, by name; None checks all as new ones.
        skips_others: Whether a named file without a definition is skipped instead of a problem.
        allows_new: Whether a definition may have no older one to be an update of.
        policy: What the changes from the old definitions count as.
        minor: The oldest minor version of API servers to answer for; None for the newest.
    """

    profile: Profile
    olds: Mapping[str, JSON] | None = None
    skips_others: bool = False
    allows_new: bool = False
    policy: ChangePolicy = field(default_factory=ChangePolicy)
    minor: int | None = None

    def judge(self, task: Task) -> BatchResult:
        """
        Check the definitions of a source. Bad content becomes a problem, and never an exception.
        """
        judged = BatchResult()
        try:
            documents = list(read_documents(task.source))
        except SourceError as error:
            judged.problems.append(problem_of(error))
            return judged
        definitions = [document for document in documents if is_definition(document)]
        # A folder may contain other manifests; a file that the user names should be a definition.
        if not definitions and task.is_named and not self.skips_others:
            text = _no_definition_message(len(documents))
            judged.problems.append(Problem(source=task.source, message=text))
            return judged
        judged.skipped += [
            Skipped(
                source=document.where(),
                reason=f"{kind_of(document)} is not a CustomResourceDefinition",
            )
            for document in documents
            if not is_definition(document)
        ]
        for definition in definitions:
            try:
                old = self._old_of(definition)
                if old is None and self.olds is not None and not self.allows_new:
                    judged.problems.append(_without_old(definition))
                verdict = judge(
                    definition,
                    profile=self.profile,
                    old=old,
                    policy=self.policy,
                    minor=self.minor,
                )
                judged.verdicts.append(verdict)
            except SourceError as error:
                judged.problems.append(problem_of(error))
        return judged

    def _old_of(self, document: Document) -> JSON:
        return None if self.olds is None else self.olds.get(name_of(document.value))


def judge_sources(sources: Sequence[str], judge: BatchJudge, advance: Advance) -> BatchResult:
    """
    Check all definitions in files, folders, patterns and standard input; the order is kept.
    """
    judged, tasks = BatchResult(), []
    for named in sources:
        try:
            tasks += [Task(source, source == named) for source in expand([named])]
        except SourceError as error:
            judged.problems.append(problem_of(error))
    advance(0, total=len(tasks))
    for done, part in enumerate(_run_tasks(tasks, judge), 1):
        judged.add(part)
        advance(done)
    return judged


_worker_judge: BatchJudge | None = None


def _start_worker(judge: BatchJudge) -> None:
    # Each process gets the judge once, since the old definitions are large; a task is only a name.
    global _worker_judge  # noqa: PLW0603 - a worker process has no other way to keep it
    _worker_judge = judge
    collect_seldom()


def _judge_one(task: Task) -> BatchResult:
    assert _worker_judge is not None  # noqa: S101 - the pool starts every process with it
    return _worker_judge.judge(task)


def _run_tasks(tasks: Sequence[Task], judge: BatchJudge) -> Iterator[BatchResult]:
    processes = _processes(tasks)
    if processes == 1:
        yield from map(judge.judge, tasks)
        return
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    # A process that already has threads must not be forked.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context, _start_worker, (judge,)) as pool:
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
        # The reader reports what is wrong with the file.
        return 0


def _without_old(document: Document) -> Problem:
    name = name_of(document.value)
    text = (
        f"there is no older {name} to update, so it was checked as a new one; --allow-new allows it"
    )
    return problem_in(document, text)


def _no_definition_message(documents: int) -> str:
    missing = "no CustomResourceDefinition of apiextensions.k8s.io"
    if not documents:
        return f"{missing} in it: it is empty"
    return f"{missing} among its {counted(documents, 'document')}"
