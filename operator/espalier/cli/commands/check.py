"""
``espalier check``: check definitions in files or in a cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from espalier.cli.options import (
    Target,
    chosen,
    profiled,
    reporting,
    selecting,
    targeting,
    versioned,
)
from espalier.cli.output.terminal import Terminal
from espalier.cli.progress import Advance
from espalier.cli.result import Column, Level, Problem, Result, Table
from espalier.names import ESTABLISHED
from espalier.paths import JSON
from espalier.plurals import counted
from espalier.schema import Profile

if TYPE_CHECKING:
    from espalier.cli.checks.batch import BatchResult
    from espalier.cli.checks.definition import DefinitionVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class _CheckRequest:
    """
    The arguments of the command.
    """

    files: tuple[str, ...]
    profile: Profile
    minor: int | None
    old: str | None
    policy: str | None
    in_cluster: bool
    skip_others: bool
    allow_new: bool
    selector: str

    def check(self) -> None:
        if not self.files and not self.in_cluster:
            raise click.UsageError(
                "Missing argument 'FILE...': name files or folders, or --cluster."
            )
        if self.in_cluster and self.old is not None:
            raise click.UsageError("--update-of is for files, not for --cluster.")
        if self.selector and not self.in_cluster:
            raise click.UsageError("--selector is for --cluster, not for files.")
        if self.policy is not None and self.old is None:
            raise click.UsageError(
                "--change-policy is for updates: name the old ones by --update-of."
            )


@click.command()
@click.argument("files", nargs=-1, metavar="FILE...|-|--cluster [NAME...]")
@click.option(
    "--update-of",
    "old",
    metavar="OLD",
    help="Check each as an update of the definition of the same name in this file or folder.",
)
@click.option(
    "--change-policy",
    "policy",
    metavar="FILE",
    help="With --update-of: which changes are errors, warnings, or allowed.",
)
@click.option(
    "--allow-new", is_flag=True, help="Allow definitions that OLD lacks; check them as new ones."
)
@click.option(
    "--cluster",
    "in_cluster",
    is_flag=True,
    help="Check definitions of a cluster: all, or those named.",
)
@click.option(
    "--skip-others", is_flag=True, help="Skip a FILE without a definition; it is no error then."
)
@selecting
@targeting(keeps=False)
@versioned()
@profiled(default=Profile.KEP)
@reporting()
def check(*, terminal: Terminal, target: Target, **given: object) -> None:
    """
    Check whether definitions are structural, and whether API servers accept them.

    FILE is a YAML or JSON file with CustomResourceDefinitions of v1 or v1beta1; it may have several
    documents and lists. FILE may also be a folder, which stands for all YAML and JSON files below
    it, a quoted pattern with * or **, or - for standard input. Documents of other kinds are
    skipped; -o wide lists them.

    Errors are violations of the rules of structural schemas, and everything that an API server
    would refuse. Warnings are the warnings of an API server, and schemas that a server accepts
    but that probably do not do what their author wants. With --update-of, errors are also changes
    that may make a stored object invalid or lose a part of it; warnings, what clients may notice.

    \b
    Examples:
      espalier check crd.yaml
      espalier check --profile apiserver --fail-on warning config/crd/
      espalier check --kubernetes-version 1.30 config/crd/
      espalier check --update-of released/crds config/crd/
      kubectl get crd -o yaml | espalier check -
      espalier check --cluster widgets.example.com
      espalier check --cluster -l team=web
      espalier check -o sarif config/crd/ > espalier.sarif

    \b
    Exit codes:
      0  there are no errors (with --fail-on warning: no warnings either)
      1  there are errors (with --fail-on warning: or warnings)
      2  the command line is not valid
      3  a file or the cluster could not be read, or has no such definition
    """
    request = _CheckRequest(**given)  # type: ignore[arg-type]  # click's values
    request.check()
    with terminal.progress("checking") as advance:
        if request.in_cluster:
            judged = _check_cluster(target, request, advance)
        else:
            judged = _check_files(request, advance)
    terminal.finish(_result_of(judged, request.profile))


def _check_cluster(target: Target, request: _CheckRequest, advance: Advance) -> BatchResult:
    from espalier.cli.checks.from_cluster import judge_cluster

    choice = chosen(request.files, request.selector)
    return judge_cluster(target, choice, request.profile, advance, minor=request.minor)


def _check_files(request: _CheckRequest, advance: Advance) -> BatchResult:
    from msgspec import structs

    from espalier.cli.checks.batch import BatchJudge, BatchResult, judge_sources
    from espalier.cli.checks.change_policy import read_policy_file
    from espalier.cli.checks.documents import problem_of
    from espalier.errors import SourceError

    allows_new = request.allow_new
    judge = BatchJudge(
        request.profile,
        skips_others=request.skip_others,
        allows_new=allows_new,
        minor=request.minor,
    )
    before = BatchResult()
    try:
        if request.policy is not None:
            judge = structs.replace(judge, policy=read_policy_file(request.policy))
    except SourceError as error:
        return BatchResult(problems=[problem_of(error)])
    if request.old is not None:
        olds = _read_olds(request.old, before)
        # What could not be read says nothing of what there is to update.
        judge = structs.replace(judge, olds=olds, allows_new=allows_new or bool(before.problems))
    judged = judge_sources(request.files, judge, advance)
    judged.problems += before.problems
    return judged


def _read_olds(named: str, judged: BatchResult) -> dict[str, JSON]:
    from espalier.cli.checks.documents import is_definition, name_of, problem_of
    from espalier.cli.input.files import expand, read_documents
    from espalier.errors import MalformedDefinitionError, SourceError

    olds: dict[str, JSON] = {}
    try:
        for source in expand([named]):
            for document in read_documents(source):
                if is_definition(document):
                    olds[name_of(document.value)] = _as_established(document.value)
    except SourceError as error:
        judged.problems.append(problem_of(error))
    except MalformedDefinitionError as error:
        judged.problems.append(Problem(source=named, message=str(error)))
    return olds


def _as_established(manifest: JSON) -> JSON:
    from espalier import crd

    # Manifests have no status, but an update replaces a definition that is served.
    if not isinstance(manifest, dict) or "status" in manifest:
        return manifest
    match manifest:
        case {"spec": {"names": dict(names)}}:
            stored: list[JSON] = [
                version.name
                for version in crd.read_definition(manifest).versions
                if version.storage
            ]
            conditions: list[JSON] = [{"type": ESTABLISHED, "status": "True"}]
            status: dict[str, JSON] = {"conditions": conditions, "storedVersions": stored}
            return {**manifest, "status": {**status, "acceptedNames": names}}
        case _:
            return manifest


def _result_of(judged: BatchResult, profile: Profile) -> Result:
    verdicts = judged.verdicts
    fit = sum(verdict.is_structural(profile) for verdict in verdicts)
    refused = sum(verdict.refusals > 0 for verdict in verdicts)
    counts = {
        "definitions": len(verdicts),
        "structural": fit,
        "refused": refused,
        "profilesDiffer": sum(verdict.profiles_differ for verdict in verdicts),
    }
    result = Result(
        kind="CheckResult",
        summary="",
        findings=tuple(finding for verdict in verdicts for finding in verdict.findings),
        problems=tuple(judged.problems),
        skipped=tuple(judged.skipped),
        subjects=tuple(verdict.subject for verdict in verdicts),
        tables=(_table(verdicts),),
        items=tuple(_item(verdict, profile) for verdict in verdicts),
        counts=counts,
    )
    return replace(result, summary=_summary(result, profile))


def _summary(result: Result, profile: Profile) -> str:
    definitions, fit = result.counts["definitions"], result.counts["structural"]
    summary = f"{counted(definitions, 'definition')} checked by profile {profile.value}"
    skipped = f"; {counted(len(result.skipped), 'document')} skipped" if result.skipped else ""
    errors, warnings = result.number(Level.ERROR), result.number(Level.WARNING)
    if result.problems:
        skipped += f"; {counted(len(result.problems), 'source')} could not be read"
    if not errors and not warnings:
        return f"{summary}: no findings{skipped}" if definitions else f"{summary}{skipped}"
    found = f"{counted(errors, 'error')}, {counted(warnings, 'warning')}"
    return f"{summary}: {fit} structural, {definitions - fit} not; {found}{skipped}"


def _table(verdicts: Sequence[DefinitionVerdict]) -> Table:
    columns = [
        Column(title=title)
        for title in ("DEFINITION", "KEP", "APISERVER", "SERVER WOULD", "ERRORS", "WARNINGS", "AT")
    ]
    return Table(columns=columns, rows=[_row(verdict) for verdict in verdicts], is_wide=True)


def _row(verdict: DefinitionVerdict) -> list[str]:
    fit = ["yes" if verdict.is_structural(profile) else "no" for profile in Profile]
    levels = [
        str(sum(finding.level is level for finding in verdict.findings))
        for level in (Level.ERROR, Level.WARNING)
    ]
    return [verdict.subject.name, *fit, _acceptance(verdict), *levels, verdict.subject.where]


def _acceptance(verdict: DefinitionVerdict) -> str:
    act = "update" if verdict.is_update else "create"
    return f"refuse to {act}" if verdict.refusals else act


def _item(verdict: DefinitionVerdict, profile: Profile) -> JSON:
    condition = verdict.condition
    return {
        "name": verdict.subject.name,
        "source": verdict.subject.source,
        "document": verdict.subject.document,
        "line": verdict.subject.line,
        "profile": profile.value,
        "structural": {known.value: verdict.is_structural(known) for known in Profile},
        "profilesDiffer": verdict.profiles_differ,
        "verdict": {
            "act": "update" if verdict.is_update else "create",
            "accepted": not verdict.refusals,
            "reasons": verdict.refusals,
        },
        "versionsWithoutSchema": list(verdict.unchecked),
        "condition": None
        if condition is None
        else {
            "type": condition.type,
            "status": condition.status,
            "reason": condition.reason,
            "message": condition.message,
        },
    }
