"""
Finds Espalier's labels, annotations, conditions and records, and removes them.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from espalier import names
from espalier.crd import Definition
from espalier.engine.coordination.write_gate import LeftAlone, WriteGate
from espalier.engine.listing.pages import Listing, pages
from espalier.engine.policy.loss_message import describe_loss
from espalier.engine.ports import Endpoint, StoredMetadata, WritePermit
from espalier.engine.ports.clock import Clock
from espalier.engine.ports.definitions import MarkedDefinitions
from espalier.engine.ports.objects import Objects
from espalier.engine.ports.records import metadata_of, resource_of
from espalier.engine.ports.state import Checkpoints
from espalier.engine.runs.gate_opening import gate_alone
from espalier.engine.settings import RecordPorts, RunSettings
from espalier.engine.status.conditions import Reason
from espalier.engine.status.text import enumerated
from espalier.errors import RejectedError

_CONDITIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        names.FIELD_MANAGER: (names.STORED_OBJECTS_CURRENT, names.STORED_OBJECTS_VALID),
        names.STRUCTURAL_FIELD_MANAGER: (names.NON_STRUCTURAL_SCHEMA,),
    }
)
_PAGE_SIZE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionTrace:
    """
    What is Espalier's on a definition.

    Attributes:
        what: ``labels``, ``annotations``, ``conditions`` or ``record``.
        names: Theirs, sorted.
        managers: Of fields, under which Espalier has written conditions.
    """

    definition: Definition
    what: str
    names: tuple[str, ...]
    managers: frozenset[str] = frozenset()

    kind = "definition"

    @property
    def name(self) -> str:
        """
        The definition's.
        """
        return self.definition.name


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectTrace:
    """
    The annotation on an object.
    """

    definition: Definition
    resource: Endpoint
    seen: StoredMetadata
    names: tuple[str, ...] = (names.SCHEMA_VIOLATIONS,)

    kind = "object"
    what = "annotations"

    @property
    def name(self) -> str:
        """
        The resource and the object's key.
        """
        return f"{self.resource} {self.seen.key}"


Trace = DefinitionTrace | ObjectTrace


async def find_traces(
    name: str,
    definitions: MarkedDefinitions,
    objects: Objects,
    clock: Clock,
    *,
    gives_up_record: bool = False,
) -> AsyncIterator[Trace]:
    """
    Look at a definition and at all of its objects; nothing is written.

    Args:
        gives_up_record: Find the pointer to the record, too, while objects would lose data.

    Yields:
        What is on the definition, then what is on its objects once all were looked at.

    Raises:
        MalformedDefinitionError: The definition cannot be read.
        ClusterError: The definition or its objects cannot be read.
    """
    definition, managers = await definitions.get_with_managers(name)
    for on_definition in _on_definition(definition, managers & _CONDITIONS.keys()):
        yield on_definition
    for on_object in [trace async for trace in _on_objects(definition, objects, clock)]:
        yield on_object
    # Last: what is written to objects is judged by it.
    if gives_up_record or not _would_lose(definition):
        for record in _record_of(definition):
            yield record


async def find_record(name: str, definitions: MarkedDefinitions) -> tuple[DefinitionTrace, ...]:
    """
    Find the condition that points to the record of a definition; empty if there is none.

    Raises:
        ClusterError: The definition cannot be read.
    """
    return _record_of(await definitions.get_definition(name))


class TraceRemover:
    """
    Takes off what was found: of a definition first, then of its objects.

    Args:
        checkpoints: Where what is known of the definitions is kept.
        forgets: With the pointer to a record, delete what is known of the definition.
    """

    def __init__(
        self,
        definitions: MarkedDefinitions,
        objects: Objects,
        checkpoints: Checkpoints,
        clock: Clock,
        *,
        forgets: bool = False,
    ) -> None:
        self._forgets = forgets
        self._definitions = definitions
        self._objects = objects
        self._ports = RecordPorts(checkpoints=checkpoints, definitions=definitions, clock=clock)
        self._gates: dict[str, WriteGate] = {}

    async def remove(self, trace: Trace) -> None:
        """
        Take off one.

        Raises:
            NotFoundError: What carried it is gone.
            RejectedError: The write would or might remove something from the object.
            RecordUnreadableError: What is known of the definition cannot be trusted.
            OtherOperatorError: It is another's.
            ClusterError: It could not be taken off.
        """
        match trace:
            case ObjectTrace():
                permit = await self._permit(trace)
                await self._objects.annotate(
                    trace.resource, permit, annotations=dict.fromkeys(trace.names)
                )
            case DefinitionTrace():
                await _remove_from_definition(trace, self._definitions)
                if trace.what == "record" and self._forgets:
                    await self._ports.checkpoints.forget(trace.definition)

    async def _permit(self, trace: ObjectTrace) -> WritePermit:
        name = trace.definition.name
        if name not in self._gates:
            # As it is without the labels that were on it.
            fresh = await self._definitions.get_definition(name)
            self._gates[name] = await gate_alone(fresh, self._objects, self._ports, RunSettings())
        permit = await self._gates[name].permit(trace.seen)
        if isinstance(permit, LeftAlone):
            named = enumerated(map(describe_loss, sorted(permit.items)))
            raise RejectedError(
                verb="patch",
                resource=trace.name,
                reason="WouldLoseData",
                detail=f"left alone, since the write would or might remove: {named}",
            )
        return permit


def _would_lose(definition: Definition) -> bool:
    condition = definition.condition(names.STORED_OBJECTS_CURRENT)
    return condition is not None and condition.reason == Reason.WOULD_LOSE_DATA


def _record_of(definition: Definition) -> tuple[DefinitionTrace, ...]:
    if definition.condition(names.RECORD) is None:
        return ()
    return (
        DefinitionTrace(
            definition=definition,
            what="record",
            names=(names.RECORD,),
            managers=frozenset({names.RECORD_FIELD_MANAGER}),
        ),
    )


async def _remove_from_definition(trace: DefinitionTrace, definitions: MarkedDefinitions) -> None:
    match trace:
        case DefinitionTrace(what="conditions" | "record"):
            for manager in sorted(trace.managers):
                # What the server itself writes as well stays.
                await definitions.apply_conditions(trace.definition, (), field_manager=manager)
        case DefinitionTrace():
            await definitions.remove_metadata(trace.definition, trace.what, trace.names)


def _on_definition(definition: Definition, managers: frozenset[str]) -> list[DefinitionTrace]:
    # The labels first: they are what has the operator write the rest.
    own = {type_ for manager in managers for type_ in _CONDITIONS[manager]}
    prefix = names.PREFIX
    found = {
        "labels": [name for name in definition.labels if name.startswith(prefix)],
        "annotations": [name for name in definition.annotations if name.startswith(prefix)],
        "conditions": [one.type for one in definition.conditions if one.type in own],
    }
    return [
        DefinitionTrace(
            definition=definition, what=what, names=tuple(sorted(found_names)), managers=managers
        )
        for what, found_names in found.items()
        if found_names
    ]


async def _on_objects(
    definition: Definition, objects: Objects, clock: Clock
) -> AsyncIterator[ObjectTrace]:
    served = [version for version in definition.versions if version.served]
    if not served or not definition.established:
        return
    storage = [version for version in served if version.storage]
    resource = resource_of(definition, (storage or served)[0])
    listing = Listing(fetch=objects.list_objects, resource=resource, page_size=_PAGE_SIZE)
    async for page, _ in pages(listing, clock):
        for obj in page.objects:
            metadata = obj.get("metadata")
            annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
            if isinstance(annotations, dict) and names.SCHEMA_VIOLATIONS in annotations:
                yield ObjectTrace(definition=definition, resource=resource, seen=metadata_of(obj))
