"""
``espalier check``: the structural verdict on files.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import click

from espalier import crd
from espalier.cli.exits import Exit
from espalier.cli.reading import expand, read_documents
from espalier.cli.verdicts import Finding, Verdict, is_definition, judge
from espalier.errors import SourceError
from espalier.paths import JSON, render_path
from espalier.schema import Profile


@dataclass(slots=True)
class _Checked:
    """
    What all sources came to.
    """

    verdicts: list[Verdict] = field(default_factory=list)
    errors: list[SourceError] = field(default_factory=list)


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--profile",
    type=click.Choice([profile.value for profile in Profile]),
    default=Profile.KEP.value,
    show_default=True,
    help="Whose rules: the enhancement proposals', or those that API servers follow.",
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="For people, or for programs.",
)
@click.pass_context
def check(ctx: click.Context, files: tuple[str, ...], profile: str, output: str) -> None:
    """
    Check CustomResourceDefinitions: are their schemas structural?

    FILE is YAML or JSON, of v1 or v1beta1, with any number of documents and lists; a folder stands
    for all such files in it, and - for standard input. Documents of other kinds are passed over.

    \b
    Examples:
      espalier check crd.yaml
      espalier check --profile apiserver config/crd/
      kubectl get crd -o yaml | espalier check -

    \b
    Exit codes:
      0  all are structural
      1  there are findings
      2  the command line makes no sense
      3  a file could not be read, or holds no CustomResourceDefinition
    """
    checked, chosen = _check(files), Profile(profile)
    if output == "json":
        click.echo(json.dumps(_rendered(checked, chosen), indent=2))
    else:
        for verdict in checked.verdicts:
            _print_verdict(verdict, chosen)
        click.echo(_summary(checked.verdicts, chosen))
    for error in checked.errors:
        click.echo(f"espalier: {error}", err=True)
    if checked.errors:
        ctx.exit(Exit.UNREADABLE)
    if not all(verdict.is_structural(chosen) for verdict in checked.verdicts):
        ctx.exit(Exit.FINDINGS)


def _check(files: Sequence[str]) -> _Checked:
    checked = _Checked()
    for named in files:
        try:
            sources = list(expand([named]))
        except SourceError as error:
            checked.errors.append(error)
            continue
        for source in sources:
            _check_source(source, checked, is_named=source == named)
    return checked


def _check_source(source: str, checked: _Checked, *, is_named: bool) -> None:
    try:
        documents = list(read_documents(source))
    except SourceError as error:
        checked.errors.append(error)
        return
    definitions = [document for document in documents if is_definition(document)]
    # A folder may hold other manifests as well; a file that somebody names is meant.
    if not definitions and is_named:
        checked.errors.append(SourceError(source, _nothing_in(documents_count=len(documents))))
    for definition in definitions:
        try:
            checked.verdicts.append(judge(definition))
        except SourceError as error:
            checked.errors.append(error)


def _nothing_in(*, documents_count: int) -> str:
    wanted = "no CustomResourceDefinition of apiextensions.k8s.io"
    if not documents_count:
        return f"{wanted} in it: it is empty"
    return f"{wanted} among its {documents_count} document{_s(documents_count)}"


def _print_verdict(verdict: Verdict, profile: Profile) -> None:
    name = verdict.definition.name
    for finding in verdict.findings[profile]:
        click.echo(f"{finding.where}: {name}: {finding.text}")
        if finding.hint:
            click.echo(f"    fix: {finding.hint}")
    at = verdict.document.where()
    for version in verdict.unchecked:
        click.echo(f"{at}: {name}: version {version} has no schema, so there is nothing to check")
    difference = _difference(verdict, profile)
    if difference:
        click.echo(f"{at}: {name}: {difference}")


def _difference(verdict: Verdict, profile: Profile) -> str:
    other = next(known for known in Profile if known is not profile)
    if verdict.is_structural(profile) == verdict.is_structural(other):
        return ""
    said = {
        known: "structural"
        if verdict.is_structural(known)
        else f"not structural ({_count(len(verdict.findings[known]), 'finding')})"
        for known in (profile, other)
    }
    return (
        f"the profiles differ: {profile.value} says {said[profile]},"
        f" {other.value} says {said[other]}; see --profile {other.value}"
    )


def _summary(verdicts: Sequence[Verdict], profile: Profile) -> str:
    fit = sum(verdict.is_structural(profile) for verdict in verdicts)
    findings = sum(len(verdict.findings[profile]) for verdict in verdicts)
    told = f"{_count(len(verdicts), 'definition')} checked by profile {profile.value}"
    if not findings:
        return f"{told}: no findings"
    return f"{told}: {fit} structural, {len(verdicts) - fit} not; {_count(findings, 'finding')}"


def _rendered(checked: _Checked, profile: Profile) -> JSON:
    return {
        "profile": profile.value,
        "definitions": [_rendered_verdict(verdict, profile) for verdict in checked.verdicts],
        "errors": [
            {"source": error.source, "line": error.line, "message": error.detail}
            for error in checked.errors
        ],
    }


def _rendered_verdict(verdict: Verdict, profile: Profile) -> JSON:
    condition = crd.nonstructural_condition(verdict.definition)
    return {
        "source": verdict.document.source,
        "document": verdict.document.number,
        "name": verdict.definition.name,
        "structural": {known.value: verdict.is_structural(known) for known in Profile},
        "profilesDiffer": bool(_difference(verdict, profile)),
        "versionsWithoutSchema": list(verdict.unchecked),
        "findings": [_rendered_finding(finding) for finding in verdict.findings[profile]],
        "condition": None
        if condition is None
        else {
            "type": condition.type,
            "status": condition.status,
            "reason": condition.reason,
            "message": condition.message,
        },
    }


def _rendered_finding(finding: Finding) -> JSON:
    return {
        "version": finding.version,
        "path": render_path(finding.path),
        "line": finding.mark.line if finding.mark else None,
        "column": finding.mark.column if finding.mark else None,
        "type": finding.error.type.value.strip() if finding.error else "Parse error",
        "origin": finding.error.origin if finding.error else "",
        "message": finding.text,
        "hint": finding.hint,
    }


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{_s(number)}"


def _s(number: int) -> str:
    return "" if number == 1 else "s"
