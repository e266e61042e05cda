"""
What a run has at hand, as one record.

It stands above what it holds: the plan is a policy's, the guard is this corridor's own. The lower
corridors are given the one thing that they need.
"""

from dataclasses import dataclass
from typing import Generic, TypeGuard, TypeVar

from espalier.engine.coordination.definition_guard import DefinitionGuard
from espalier.engine.coordination.write_gate import WriteGate
from espalier.engine.listing.conversions import ConversionProbe
from espalier.engine.policy.answers import AnswerCheck
from espalier.engine.policy.plan import Legacy, Plan
from espalier.engine.ports.reporter import Reporter
from espalier.engine.settings import Ports, RunSettings

PlanT = TypeVar("PlanT", bound=Plan)
PlanT_co = TypeVar("PlanT_co", bound=Plan, covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext(Generic[PlanT_co]):
    """
    One run on one definition.

    Attributes:
        planned: What the run does.
        reporter: Is given every condition.
        guard: Reports whether the definition is still the one that the run was planned for.
        gate: Permits each write of an object.
        answers: Looks at the answers of rewrites.
        probe: Reports whether the conversion webhook converts anything.
    """

    planned: PlanT_co
    ports: Ports
    settings: RunSettings
    reporter: Reporter
    guard: DefinitionGuard
    gate: WriteGate
    probe: ConversionProbe
    answers: AnswerCheck


def context_of(
    planned: PlanT, ports: Ports, settings: RunSettings, reporter: Reporter
) -> RunContext[PlanT]:
    """
    Gather what a run has, and guard the definition as it is planned for.
    """
    guard = DefinitionGuard(ports.definitions, ports.clock, planned.definition)
    return RunContext(
        planned=planned,
        ports=ports,
        settings=settings,
        reporter=reporter,
        guard=guard,
        gate=WriteGate(guard, ports.fence),
        probe=ConversionProbe(ports.objects, planned.definition),
        answers=AnswerCheck(planned.definition),
    )


def is_legacy(context: RunContext[Plan]) -> TypeGuard[RunContext[Legacy]]:
    """
    Report whether the definition preserves unknown fields.
    """
    return isinstance(context.planned, Legacy)
