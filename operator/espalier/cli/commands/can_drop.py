"""
``espalier can-drop``: may a version be dropped from a definition? One answer, and why.
"""

import asyncio
from collections.abc import Sequence

import click

from espalier import crd, engine
from espalier.cli.checks.definition_names import full_name
from espalier.cli.checks.from_cluster import manifests_of
from espalier.cli.checks.version_drop import drop_findings
from espalier.cli.commands.survey import SurveyProgress
from espalier.cli.options import Target, reporting, targeting
from espalier.cli.output.terminal import Terminal
from espalier.cli.progress import Advance
from espalier.cli.result import Finding, Level, Problem, Result, Subject
from espalier.engine import VersionUse
from espalier.errors import EspalierError
from espalier.paths import JSON
from espalier.plurals import counted


@click.command(name="can-drop")
@click.argument("version")
@click.argument("name", metavar="CRD")
@targeting(keeps=False)
@reporting()
def can_drop(*, terminal: Terminal, target: Target, version: str, name: str) -> None:
    """
    Report whether a version of a definition may be dropped, and what forbids it.

    Checks the definition without VERSION as the API server would, and reads the metadata of all
    objects: storedVersions, objects that cannot be read, managedFields that name the version and
    who wrote them, whether the version is served, and conversion. Writes nothing.

    \b
    Examples:
      espalier can-drop v1alpha1 widgets.example.com
      espalier can-drop v1alpha1 widgets.example.com --fail-on warning -o json

    \b
    Exit codes:
      0  yes, the version can be dropped (with --fail-on warning: and there is no doubt)
      1  no (with --fail-on warning: or there are doubts); the output gives the reasons
      2  the command line or the kubeconfig is not valid
      3  the cluster could not be read, or there is no such definition or version
      4  no, and some objects could not be read
    """
    if {".", "/"} & set(version) and not {".", "/"} & set(name):
        raise click.UsageError(f"VERSION comes first: espalier can-drop {name} {version}")
    with terminal.progress("reading") as advance:
        result = asyncio.run(_ask(target, version, name, advance))
    terminal.finish(result)


async def _ask(target: Target, version: str, name: str, advance: Advance) -> Result:
    async with target.connect() as connected:
        name = await full_name(connected, name)
        try:
            manifest = await anext(manifests_of(connected, [name]))
            definition = crd.read_definition(manifest)
            use = await engine.version_use(
                definition,
                version,
                connected.objects,
                connected.clock,
                onlooker=SurveyProgress(advance, name),
            )
            findings = list(drop_findings(definition, manifest, version, use))
        except EspalierError as error:
            return Result(
                kind="DropResult",
                summary=f"{name}: whether {version} can be dropped is not known",
                problems=(Problem(source=name, message=str(error)),),
            )
    return _result_of(version, name, use, findings)


def _result_of(version: str, name: str, use: VersionUse, findings: Sequence[Finding]) -> Result:
    reasons = sum(one.level is Level.ERROR for one in findings)
    doubts = sum(one.level is Level.WARNING for one in findings)
    answer = f"yes, {version} can be dropped"
    if reasons:
        answer = f"no, {version} cannot be dropped: {counted(reasons, 'reason')}"
    elif doubts:
        answer = f"{answer}, with {counted(doubts, 'doubt')}"
    item: JSON = {
        "crd": name,
        "version": version,
        "canDrop": not reasons,
        "objects": use.objects,
        "managers": {one.path: one.objects for one in use.managers.paths},
        "undecodable": list(use.undecodable),
    }
    return Result(
        kind="DropResult",
        summary=f"{name}, {counted(use.objects, 'stored object')}: {answer}",
        findings=tuple(findings),
        subjects=(Subject(name=name),),
        items=(item,),
        counts={"objects": use.objects},
        is_incomplete=bool(use.undecodable),
    )
