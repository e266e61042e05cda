"""
May a version be dropped from a definition? One answer, and why.
"""

import asyncio
from collections.abc import Sequence

from espalier import crd, engine
from espalier.cli.checks.definition_names import full_name
from espalier.cli.checks.from_cluster import manifests_of
from espalier.cli.checks.version_drop import drop_findings
from espalier.cli.operations.survey import SurveyProgress
from espalier.cli.options import Target
from espalier.cli.output.error_exits import text_of
from espalier.cli.progress import Advance
from espalier.cli.result import Finding, Level, Problem, Result, Subject
from espalier.engine import VersionUse
from espalier.errors import EspalierError
from espalier.paths import JSON
from espalier.plurals import counted


def answer(target: Target, version: str, name: str, advance: Advance) -> Result:
    """
    Answer whether a version may be dropped.

    Raises:
        UsageError: The name stands for several definitions.
        EspalierError: The cluster could not be read.
    """
    return asyncio.run(_ask(target, version, name, advance))


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
                problems=(Problem(source=name, message=text_of(error, name)),),
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
