"""
``espalier cleanup``: takes what is Espalier's off definitions and objects.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import click

from espalier import cluster, crd
from espalier.cli.checks.from_cluster import manifests_of
from espalier.cli.options import Target, reporting, targeting
from espalier.cli.output.exit_codes import Exit
from espalier.cli.output.formats import TABULAR
from espalier.cli.output.terminal import Advance, Terminal
from espalier.cli.result import Column, Problem, Result, Table
from espalier.cluster import Cluster
from espalier.cluster.transport.client import MERGE_PATCH_TYPE, ApiRequest
from espalier.cluster.transport.paths import definition_path
from espalier.crd import Definition
from espalier.engine.listing.pages import Listing, pages
from espalier.engine.ports import Endpoint, ObjectKey, key_of
from espalier.engine.ports.records import Identity, identity_of, resource_of
from espalier.errors import EspalierError, NotFoundError
from espalier.names import (
    FIELD_MANAGER,
    NON_STRUCTURAL_SCHEMA,
    PREFIX,
    SCHEMA_VIOLATIONS,
    STORED_OBJECTS_CURRENT,
    STORED_OBJECTS_VALID,
    STRUCTURAL_FIELD_MANAGER,
)
from espalier.paths import JSON
from espalier.plurals import counted

_CONDITIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        FIELD_MANAGER: (STORED_OBJECTS_CURRENT, STORED_OBJECTS_VALID),
        STRUCTURAL_FIELD_MANAGER: (NON_STRUCTURAL_SCHEMA,),
    }
)
_PAGE_SIZE = 500
_DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"


@dataclass(frozen=True, slots=True, kw_only=True)
class _OnDefinition:
    """
    What is Espalier's on a definition.

    Attributes:
        what: ``labels``, ``annotations`` or ``conditions``.
        managers: Of fields, under which Espalier has written conditions.
    """

    definition: Definition
    what: str
    names: tuple[str, ...]
    managers: frozenset[str] = frozenset()

    kind = "definition"

    @property
    def name(self) -> str:
        return self.definition.name

    async def remove(self, connected: Cluster) -> None:
        if self.what == "conditions":
            for manager in sorted(self.managers):
                # What the server itself writes as well stays.
                await connected.definitions.apply_conditions(
                    self.definition, (), field_manager=manager
                )
            return
        # The uid guards against another definition of the same name.
        gone: dict[str, JSON] = dict.fromkeys(self.names)
        body: dict[str, JSON] = {"metadata": {"uid": self.definition.uid, self.what: gone}}
        call = ApiRequest(
            verb="patch",
            resource=f"{_DEFINITIONS} {self.name}",
            method="PATCH",
            path=definition_path(self.name),
            query={"fieldManager": FIELD_MANAGER},
            body=body,
            content_type=MERGE_PATCH_TYPE,
        )
        await connected.client.send(call)


@dataclass(frozen=True, slots=True, kw_only=True)
class _OnObject:
    """
    The annotation on an object.
    """

    resource: Endpoint
    key: ObjectKey
    seen: Identity
    names: tuple[str, ...] = (SCHEMA_VIOLATIONS,)

    kind = "object"
    what = "annotations"

    @property
    def name(self) -> str:
        return f"{self.resource} {self.key}"

    async def remove(self, connected: Cluster) -> None:
        await connected.objects.annotate(
            self.resource,
            self.key,
            uid=self.seen.uid,
            resource_version=self.seen.resource_version,
            annotations={SCHEMA_VIOLATIONS: None},
        )


_Trace = _OnDefinition | _OnObject


@click.command()
@click.argument("names", nargs=-1, metavar="[CRD...]")
@click.option("--dry-run", is_flag=True, help="Only show.")
@click.option("--yes", "is_confirmed", is_flag=True, help="Do not ask.")
@targeting()
@reporting(formats=TABULAR, fails=False)
def cleanup(
    *,
    terminal: Terminal,
    target: Target,
    names: tuple[str, ...],
    dry_run: bool,
    is_confirmed: bool,
) -> None:
    """
    Take Espalier's labels, annotations and conditions off.

    For uninstalling. Looks at the definitions named, or at all, and at every object of theirs;
    shows what it found, and asks. Stop the operator first, or it writes its conditions anew. What
    it keeps in a namespace of its own stays: export the archive first, then delete the namespace.

    \b
    Examples:
      espalier cleanup --dry-run
      espalier archive export ./archive && espalier cleanup --yes
      espalier cleanup widgets.example.com

    \b
    Exit codes:
      0  all of it is off, or there was nothing
      2  the command line or the kubeconfig makes no sense
      3  the cluster could not be read
      4  some of it is still there, or nobody confirmed it
    """
    problems: list[Problem] = []
    with terminal.progress("looking") as advance:
        traces = asyncio.run(_find(target, names, problems, advance))
    if dry_run or not traces:
        terminal.finish(_result_of(traces, frozenset(), problems, target, is_dry=dry_run))
    for trace in traces:
        terminal.tell(f"{trace.kind} {trace.name}: {trace.what} {', '.join(trace.names)}")
    question = f"Take them off {counted(len(traces), 'place')}?"
    if not terminal.confirm(question, is_answered=is_confirmed):
        click.get_current_context().exit(Exit.INCOMPLETE)
    with terminal.progress("cleaning", total=len(traces)) as advance:
        done = asyncio.run(_remove(target, traces, problems, advance))
    terminal.finish(_result_of(traces, done, problems, target, is_dry=False))


async def _find(
    target: Target, names: Sequence[str], problems: list[Problem], advance: Advance
) -> list[_Trace]:
    traces: list[_Trace] = []
    async with cluster.connect(target.kubeconfig, context=target.context) as connected:
        wanted = names or await connected.definitions.definition_names()
        for done, name in enumerate(wanted):
            advance(done, total=len(wanted), text=name)
            try:
                async for manifest in manifests_of(connected, [name]):
                    definition = crd.read_definition(manifest)
                    traces += _on_definition(definition, _managers_in(manifest))
                    traces += [trace async for trace in _on_objects(connected, definition)]
            except EspalierError as error:
                problems.append(Problem(source=name, message=str(error)))
    return traces


def _on_definition(definition: Definition, managers: frozenset[str]) -> list[_OnDefinition]:
    # The labels first: they are what has the operator write the rest.
    own = {type_ for manager in managers for type_ in _CONDITIONS[manager]}
    found = {
        "labels": [name for name in definition.labels if name.startswith(PREFIX)],
        "annotations": [name for name in definition.annotations if name.startswith(PREFIX)],
        "conditions": [one.type for one in definition.conditions if one.type in own],
    }
    return [
        _OnDefinition(
            definition=definition, what=what, names=tuple(sorted(names)), managers=managers
        )
        for what, names in found.items()
        if names
    ]


def _managers_in(manifest: JSON) -> frozenset[str]:
    match manifest:
        case {"metadata": {"managedFields": list(entries)}}:
            named = {entry.get("manager") for entry in entries if isinstance(entry, dict)}
            return frozenset(manager for manager in _CONDITIONS if manager in named)
        case _:
            return frozenset()


async def _on_objects(connected: Cluster, definition: Definition) -> AsyncIterator[_OnObject]:
    served = [version for version in definition.versions if version.served]
    if not served or not definition.established:
        return
    storage = [version for version in served if version.storage]
    resource = resource_of(definition, (storage or served)[0])
    listing = Listing(fetch=connected.objects.list_objects, resource=resource, page_size=_PAGE_SIZE)
    async for page, _ in pages(listing, connected.clock):
        for obj in page.objects:
            metadata = obj.get("metadata")
            annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
            if isinstance(annotations, dict) and SCHEMA_VIOLATIONS in annotations:
                yield _OnObject(resource=resource, key=key_of(obj), seen=identity_of(obj))


async def _remove(
    target: Target, traces: Sequence[_Trace], problems: list[Problem], advance: Advance
) -> frozenset[int]:
    done: set[int] = set()
    async with cluster.connect(target.kubeconfig, context=target.context) as connected:
        for number, trace in enumerate(traces):
            try:
                await trace.remove(connected)
            except NotFoundError:
                # What is gone carries nothing any more.
                done.add(number)
            except EspalierError as error:
                problems.append(Problem(source=trace.name, message=str(error)))
            else:
                done.add(number)
            advance(number + 1)
    return frozenset(done)


def _result_of(
    traces: Sequence[_Trace],
    done: frozenset[int],
    problems: Sequence[Problem],
    target: Target,
    *,
    is_dry: bool,
) -> Result:
    columns = [Column(title=title) for title in ("KIND", "NAME", "WHAT", "NAMES", "REMOVED")]
    rows = [
        [
            trace.kind,
            trace.name,
            trace.what,
            ", ".join(trace.names),
            "yes" if number in done else "no",
        ]
        for number, trace in enumerate(traces)
    ]
    told = f"{counted(len(done), 'trace')} of {len(traces)} removed"
    if is_dry:
        told = f"{counted(len(traces), 'trace')} to remove"
    if not traces:
        told = "nothing of Espalier's is on definitions and objects"
    stays = f"; checkpoints, leases and archives stay in namespace {target.operator_namespace}"
    return Result(
        kind="CleanupResult",
        summary=told + stays,
        problems=tuple(problems),
        tables=(Table(columns=columns, rows=rows),),
        items=tuple(
            {
                "kind": trace.kind,
                "name": trace.name,
                "what": trace.what,
                "names": list(trace.names),
                "removed": number in done,
            }
            for number, trace in enumerate(traces)
        ),
        counts={"traces": len(traces), "removed": len(done)},
        is_incomplete=not is_dry and len(done) < len(traces),
    )
