"""
Observes only: surveys the stored objects, and reports in both conditions what was found.

Neither objects nor stored versions are written, and no lease is taken, so a process that writes is
not delayed. Apart from the conditions, only Espalier's record of the schemas that it has seen is
written: without it a later run could not prove that nothing is lost.
"""

from espalier.crd import Condition, Definition
from espalier.engine.coordination.definition_guard import DefinitionGuard
from espalier.engine.flowcontrol.calls import run_with_watchers
from espalier.engine.policy.labels import Policy
from espalier.engine.policy.plan import Stop
from espalier.engine.policy.restrictions import within_text
from espalier.engine.ports.meter import Phase
from espalier.engine.ports.records import resource_of
from espalier.engine.ports.reporter import Reporter
from espalier.engine.runs.gate_opening import gate_alone
from espalier.engine.runs.permissions import check_reading
from espalier.engine.settings import Ports, RunSettings
from espalier.engine.status import conditions
from espalier.engine.status.conditions import Reason
from espalier.engine.surveys.report import Survey
from espalier.engine.surveys.summary import describe
from espalier.engine.surveys.survey import Scope, WouldLose, survey
from espalier.engine.surveys.valid_condition import LEFT_OUT, validity_of
from espalier.plurals import counted

OBSERVING = "nothing is written in mode observe"
READ_ONLY = "the operator is read-only"


class _Progress:
    """
    Reports how far a survey came.
    """

    def __init__(self, definition: Definition, reporter: Reporter, what: str) -> None:
        self._definition = definition
        self._reporter = reporter
        self._what = what

    async def surveyed(self, objects: int, *, remaining: int | None) -> None:
        text = counted(objects if remaining is None else objects + remaining, "object")
        if remaining is not None:
            text = f"{objects} of {text}"
        reported = conditions.not_current(Reason.OBSERVED, f"{self._what}; surveying: {text}")
        await self._reporter.report(self._definition, reported)


async def observe(  # noqa: PLR0913 - what a run has, and why it only looks
    definition: Definition,
    policy: Policy,
    ports: Ports,
    settings: RunSettings,
    reporter: Reporter,
    *,
    why: str,
    hindrance: Stop | None,
) -> tuple[Condition, ...]:
    """
    Survey, and make both conditions.

    Args:
        why: Why nothing is written.
        hindrance: What enforcing would stop at.

    Raises:
        DefinitionChangedError: Start over with the new definition.
        RunStoppedError: A right is missing.
        EspalierError: The objects cannot be read.
    """
    ports.meter.enter(definition.name, Phase.SURVEY)
    resource = resource_of(definition, definition.storage)
    await check_reading(resource, policy.namespaces, ports)
    scope = Scope(
        would_lose=await _losses_of(definition, ports, settings),
        namespaces=policy.namespaces,
        page_size=settings.page_size,
        workers=ports.workers,
    )
    surveying = survey(
        definition,
        ports.objects,
        ports.clock,
        scope,
        onlooker=_Progress(definition, reporter, why),
    )
    guard = DefinitionGuard(ports.definitions, ports.clock, definition)
    found = await run_with_watchers(surveying, guard.watch())
    ports.meter.survey(definition.name, found.counts)
    return _conditions_of(definition, policy, found, why=why, hindrance=hindrance)


async def _losses_of(
    definition: Definition, ports: Ports, settings: RunSettings
) -> WouldLose | None:
    if definition.preserve_unknown_fields:
        return None
    return (await gate_alone(definition, ports.objects, ports.record, settings)).items


def _conditions_of(
    definition: Definition, policy: Policy, found: Survey, *, why: str, hindrance: Stop | None
) -> tuple[Condition, ...]:
    within = within_text(policy.namespaces)
    text = f"{why}{within}. {describe(found, definition)}"
    if hindrance is not None:
        text += f". Enforcing would stop with {hindrance.reason}: {hindrance.message}"
    (current,) = conditions.not_current(Reason.OBSERVED, text)
    valid = validity_of(found, within=within) if policy.does("validate") else LEFT_OUT
    return current, valid
