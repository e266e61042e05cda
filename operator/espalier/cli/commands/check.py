"""
``espalier check``: check definitions in files or in a cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from espalier.cli.options import Target, profiled, reporting, targeting
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
@targeting(keeps=False)
@profiled()
@reporting()
def check(  # noqa: PLR0913 - one argument an option
    *,
    terminal: Terminal,
    profile: Profile,
    target: Target,
    files: tuple[str, ...],
    old: str | None,
    policy: str | None,
    in_cluster: bool,
    skip_others: bool,
    allow_new: bool,
) -> None:
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
      espalier check --update-of released/crds config/crd/
      kubectl get crd -o yaml | espalier check -
      espalier check --cluster widgets.example.com
      espalier check -o sarif config/crd/ > espalier.sarif

    \b
    Exit codes:
      0  there are no errors (with --fail-on warning: no warnings either)
      1  there are errors (with --fail-on warning: or warnings)
      2  the command line is not valid
      3  a file or the cluster could not be read, or FILE or OLD lacks the definition
    """
    _check_arguments(files, old, policy, in_cluster=in_cluster)
    with terminal.progress("checking") as advance:
        if in_cluster:
            judged = _check_cluster(target, files, profile, advance)
        else:
            skipping = {"skips_others": skip_others, "allows_new": allow_new}
            judged = _check_files(files, old, policy, profile, advance, **skipping)
    terminal.finish(_result_of(judged, profile))


def _check_arguments(
    files: Sequence[str], old: str | None, policy: str | None, *, in_cluster: bool
) -> None:
    if not files and not in_cluster:
        raise click.UsageError("Missing argument 'FILE...': name files or folders, or --cluster.")
    if in_cluster and old is not None:
        raise click.UsageError("--update-of is for files, not for --cluster.")
    if policy is not None and old is None:
        raise click.UsageError("--change-policy is for updates: name the old ones by --update-of.")


def _check_cluster(
    target: Target, names: Sequence[str], profile: Profile, advance: Advance
) -> BatchResult:
    from espalier.cli.checks.from_cluster import judge_cluster

    return judge_cluster(target, names, profile, advance)


def _check_files(  # noqa: PLR0913 - one argument an option
    files: Sequence[str],
    old: str | None,
    policy: str | None,
    profile: Profile,
    advance: Advance,
    *,
    skips_others: bool,
    allows_new: bool,
) -> BatchResult:
    from espalier.cli.checks.batch import BatchJudge, BatchResult, judge_sources
    from espalier.cli.checks.change_policy import read_policy_file
    from espalier.cli.checks.documents import problem_of
    from espalier.errors import SourceError

    judge = BatchJudge(profile, skips_others=skips_others, allows_new=allows_new)
    before = BatchResult()
    try:
        if policy is not None:
            judge = replace(judge, policy=read_policy_file(policy))
    except SourceError as error:
        return BatchResult(problems=[problem_of(error)])
    if old is not None:
        olds = _read_olds(old, before)
        # What could not be read says nothing of what there is to update.
        judge = replace(judge, olds=olds, allows_new=allows_new or bool(before.problems))
    judged = judge_sources(files, judge, advance)
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
