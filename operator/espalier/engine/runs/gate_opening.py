"""
Opens the gate of a run: gathers what is known of the definition, and what was consented to.
"""

from functools import partial

from espalier.crd import Definition
from espalier.engine.conversion.exact import ExactComparison
from espalier.engine.conversion.named_fields import NamedFieldsComparison
from espalier.engine.conversion.webhook import check_shown, converts_by_webhook
from espalier.engine.coordination.checkpoint import Checkpoint
from espalier.engine.coordination.definition_guard import DefinitionGuard
from espalier.engine.coordination.ledger import Ledger, load_known, remembering
from espalier.engine.coordination.record_pointer import read_pointer
from espalier.engine.coordination.run_context import RunContext
from espalier.engine.coordination.write_gate import CheckShown, Compare, WriteGate
from espalier.engine.listing.conversions import ConversionProbe
from espalier.engine.policy.consent import consented
from espalier.engine.policy.evidence import Evidence
from espalier.engine.policy.labels import read_policy
from espalier.engine.policy.plan import Plan
from espalier.engine.policy.timestamps import seconds_of
from espalier.engine.ports import Workers
from espalier.engine.ports.clock import Clock
from espalier.engine.ports.objects import Objects
from espalier.engine.settings import RecordPorts, RunSettings


async def open_gate(context: RunContext[Plan], ledger: Ledger) -> None:
    """
    Open the gate of a run that has its ledger.

    Raises:
        ClusterError: A consent could not be saved.
    """
    definition, ports = context.planned.definition, context.ports
    await ledger.accept(context.planned.policy.accepted_loss)
    evidence = evidence_of(definition, ledger.known, context.settings, ports.clock)
    compare = _comparison(definition, ports.objects, context.probe, ports.workers)
    shown = _check_of(definition, ports.objects, context.probe)
    context.gate.open(evidence, ledger.accepted, compare, check_shown=shown)


async def gate_alone(
    definition: Definition, objects: Objects, ports: RecordPorts, settings: RunSettings
) -> WriteGate:
    """
    Make the gate for work on single objects that is no run, as a restore or a clean-up is.

    Raises:
        RecordUnreadableError: What is known of the definition cannot be trusted.
        OtherOperatorError: It is another's.
        ClusterError: It cannot be read.
    """
    found = (await load_known(ports, definition)).checkpoint
    # A consent that has ended by now, as a run would find, is none.
    known = remembering(found, definition)
    gate = WriteGate(DefinitionGuard(ports.definitions, ports.clock, definition))
    probe = ConversionProbe(objects, definition)
    gate.open(
        evidence_of(definition, known, settings, ports.clock),
        consented(read_policy(definition).accepted_loss, (known.shown, known.accepted)),
        _comparison(definition, objects, probe, ports.workers),
        check_shown=_check_of(definition, objects, probe),
    )
    return gate


def _comparison(
    definition: Definition, objects: Objects, probe: ConversionProbe, workers: Workers | None
) -> Compare:
    if converts_by_webhook(definition):
        return NamedFieldsComparison(definition, objects, probe).items
    return ExactComparison(definition, objects, workers=workers).items


def _check_of(
    definition: Definition, objects: Objects, probe: ConversionProbe
) -> CheckShown | None:
    return partial(check_shown, probe, objects) if converts_by_webhook(definition) else None


def evidence_of(
    definition: Definition, known: Checkpoint, settings: RunSettings, clock: Clock
) -> Evidence | None:
    """
    Gather the evidence by which objects are judged; None where the server prunes nothing.

    Args:
        known: What is known of the definition, with what it specifies now.
    """
    if definition.preserve_unknown_fields:
        return None
    pointer = read_pointer(definition)
    # Then no generation but this one came after the pointer was written.
    is_recorded = pointer is not None and pointer.digest == known.record.digest()
    return Evidence(
        definition,
        known.record,
        settle_seconds=settings.settle_seconds,
        now_seconds=seconds_of(clock.utc_timestamp()) or 0.0,
        is_proved=known.is_proved,
        storages=known.storages,
        recorded_at=definition.record_written_at if is_recorded else "",
    )
