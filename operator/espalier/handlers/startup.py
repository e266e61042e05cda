"""
Assembles the operator, and runs it under Kopf until it is stopped.
"""

import asyncio
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import kopf

from espalier.cluster import Cluster, own_identity
from espalier.cluster.archives.secrets import SecretArchive
from espalier.engine.coordination.buckets import Buckets
from espalier.engine.coordination.fenced_ports import FencedCheckpoints, FencedDefinitions
from espalier.engine.coordination.pause import Pause
from espalier.engine.flowcontrol.budget import DEFAULT_TOTAL_IN_FLIGHT, Budget
from espalier.engine.flowcontrol.sightings import Sightings
from espalier.engine.ports.clock import Clock
from espalier.engine.ports.definitions import Definitions
from espalier.engine.ports.workers import Workers
from espalier.engine.settings import Ports, RunSettings
from espalier.errors import ForbiddenError
from espalier.handlers.application import Espalier, KeepReport
from espalier.handlers.engine_work import EngineWork
from espalier.handlers.registry import register
from espalier.handlers.report_keeper import ReportKeeper
from espalier.handlers.serving.servers import check_ports, serving
from espalier.handlers.settings import Settings
from espalier.handlers.status_writer import FencedEvents, StatusReporter
from espalier.handlers.structural_condition import StructuralKeeper
from espalier.handlers.supervisor import Supervisor
from espalier.handlers.tasks import Guard
from espalier.handlers.workqueue import WorkQueue
from espalier.observe.metrics import Sources
from espalier.observe.recorder import Recorder, RecordingReporter
from espalier.observe.state import ArchiveFill
from espalier.workers.pool import worker_pool

KOPF_USER_AGENT = f"kopf/{version('kopf')}"
"""Marks Kopf's requests in the audit log; none of them may change anything."""

FORBIDDEN_TRIES, FORBIDDEN_PAUSE_SECONDS = 10, 1.0
"""How often it is asked at the start, and the pause in between."""


async def run_operator(
    settings: Settings,
    cluster: Cluster,
    *,
    stop_flag: asyncio.Event,
    ready_flag: asyncio.Event | None = None,
) -> None:
    """
    Run the operator until the flag is set, or until a signal comes in the main thread.

    Kopf takes whatever other tasks are begun in this event loop meanwhile for its own: it
    waits for them at its end, and cancels them after five seconds.

    Args:
        cluster: Where it works; the caller closes it afterwards.
        ready_flag: Set when Kopf's handlers are ready.

    Raises:
        ConfigurationError: A port cannot be opened.
        ClusterError: The API server cannot be reached at the start, or forbids the list of
            definitions.
        Exception: A bug ended a task; the operator does not go on without it.
    """
    check_ports(settings)
    await preflight(cluster)
    guard = Guard(stop_flag.set)
    registry = kopf.OperatorRegistry()
    # Without it, Kopf asks for the name of the user, and fails if the user has none.
    identity: Any = own_identity()

    async def log_in() -> kopf.AiohttpSession:
        return session_of(cluster)

    async with workers_of(settings) as workers:
        register(registry, assemble(settings, cluster, guard, workers), log_in, stop_flag)
        await kopf.operator(
            registry=registry,
            identity=identity,
            standalone=True,
            clusterwide=True,
            stop_flag=stop_flag,
            ready_flag=ready_flag,
        )
    if guard.failure is not None:
        raise guard.failure


async def preflight(cluster: Cluster) -> None:
    """
    Check that definitions can be listed: Kopf would retry without an end.

    An API server that has only just begun to answer does not know any role yet, so a refusal must
    last.

    Raises:
        ClusterError: The API server cannot be reached, or refuses to list definitions.
    """
    for _ in range(FORBIDDEN_TRIES - 1):
        try:
            await _list_one(cluster)
        except ForbiddenError:
            await cluster.clock.sleep(FORBIDDEN_PAUSE_SECONDS)
        else:
            return
    await _list_one(cluster)


async def _list_one(cluster: Cluster) -> None:
    async for _ in cluster.definitions.list_definitions(page_size=1):
        return


def session_of(cluster: Cluster) -> kopf.AiohttpSession:
    """
    Open a session for Kopf, which closes it.
    """
    return kopf.AiohttpSession(
        server=cluster.server,
        aiohttp_session=cluster.open_session(user_agent=KOPF_USER_AGENT),
    )


def workers_of(settings: Settings) -> AbstractAsyncContextManager[Workers | None]:
    """
    Make the worker processes; none is started yet.
    """
    return worker_pool(
        processes=settings.worker_processes, deadline_seconds=settings.object_deadline_seconds
    )


def assemble(
    settings: Settings, cluster: Cluster, guard: Guard, workers: Workers | None
) -> Espalier:
    """
    Put the operator together; nothing starts yet.
    """
    clock, queue = cluster.clock, WorkQueue(cluster.clock)
    archive = cluster.archive(settings.namespace, max_total_bytes=settings.archive_max_bytes)
    recorder = _recorder_of(settings, clock, archive)
    budget = _budget_of(settings, cluster)
    ports, buckets = _ports_of(settings, cluster, budget, archive)
    ports = replace(ports, meter=recorder, workers=workers)
    events = FencedEvents(cluster.events, buckets)
    seconds = settings.progress_seconds
    reporter = StatusReporter(ports.definitions, events, clock, guard, progress_seconds=seconds)
    work = _work_of(settings, ports, reporter, recorder)
    supervisor = Supervisor(
        work,
        ports.definitions,
        reporter,
        clock=clock,
        guard=guard,
        nudge=queue.nudge,
        max_runs=settings.max_runs,
        owns=buckets.owns,
    )
    sources = Sources(
        recorder=recorder,
        budget=budget,
        requests=cluster.connection.figures,
        queue=queue,
        buckets=buckets,
    )
    return Espalier(
        settings,
        definitions=cluster.definitions,
        sightings=ports.sightings or Sightings(clock),
        clock=clock,
        guard=guard,
        queue=queue,
        reporter=reporter,
        keeper=_keeper_of(settings, ports.definitions, clock),
        supervisor=supervisor,
        recorder=recorder,
        buckets=buckets,
        serve=serving(settings, sources),
        keep_report=_report_keeping(settings, cluster, recorder, buckets),
    )


def _report_keeping(
    settings: Settings, cluster: Cluster, recorder: Recorder, buckets: Buckets
) -> KeepReport | None:
    if not settings.report:
        return None
    return ReportKeeper(
        recorder.snapshot,
        buckets,
        cluster.report(settings.namespace),
        cluster.clock,
        count=settings.buckets,
        with_messages=settings.report_messages,
    ).run


def _work_of(
    settings: Settings, ports: Ports, reporter: StatusReporter, recorder: Recorder
) -> EngineWork:
    recording = RecordingReporter(recorder, reporter)
    return EngineWork(ports, _run_settings_of(settings), recording, recorder)


def _recorder_of(settings: Settings, clock: Clock, archive: SecretArchive) -> Recorder:
    return Recorder(
        clock,
        is_read_only=settings.read_only,
        archive_fill=lambda: _fill_of(archive, settings),
    )


def _fill_of(archive: SecretArchive, settings: Settings) -> ArchiveFill | None:
    held_bytes = archive.held_bytes
    if held_bytes is None:
        return None
    return ArchiveFill(held_bytes=held_bytes, max_bytes=settings.archive_max_bytes)


def _budget_of(settings: Settings, cluster: Cluster) -> Budget:
    return Budget(
        cluster.clock,
        bytes_per_second=settings.max_bytes_per_second,
        writes_per_second=settings.max_writes_per_second or None,
        max_in_flight=max(settings.max_in_flight, DEFAULT_TOTAL_IN_FLIGHT),
    )


def _keeper_of(
    settings: Settings, definitions: Definitions, clock: Clock
) -> StructuralKeeper | None:
    if not settings.structural:
        return None
    return StructuralKeeper(definitions, clock, grace_seconds=settings.structural_grace_seconds)


def _ports_of(
    settings: Settings, cluster: Cluster, budget: Budget, archive: SecretArchive
) -> tuple[Ports, Buckets]:
    """
    Gather the ports; they write only for the definitions of the buckets that are held.
    """
    identity, namespace, seconds = own_identity(), settings.namespace, settings.lease_seconds
    bucket_leases = cluster.bucket_leases(namespace, identity, duration_seconds=seconds)
    buckets = Buckets(
        bucket_leases,
        cluster.replicas(namespace, identity, duration_seconds=seconds),
        cluster.clock,
        count=settings.buckets,
        pause=Pause(cluster.pause_switch(namespace), cluster.clock, is_permanent=settings.pause),
        on_share=budget.reduce,
    )
    checkpoints = cluster.checkpoints(namespace, may_begin=buckets.may_begin)
    ports = Ports(
        objects=cluster.objects,
        definitions=FencedDefinitions(cluster.definitions_while(buckets.may_begin), buckets),
        rights=cluster.rights,
        checkpoints=FencedCheckpoints(checkpoints, buckets),
        archive=archive,
        namespace=namespace,
        leases=cluster.leases(
            namespace, identity, duration_seconds=seconds, overtaken=bucket_leases.overtaken
        ),
        clock=cluster.clock,
        sightings=Sightings(cluster.clock),
        budget=budget,
        fence=buckets,
    )
    return ports, buckets


def _run_settings_of(settings: Settings) -> RunSettings:
    return RunSettings(
        settle_seconds=settings.settle_seconds,
        page_size=settings.page_size,
        max_in_flight=settings.max_in_flight,
        resurvey_seconds=settings.resurvey_seconds,
        reading_share=settings.survey_percent / 100,
        is_read_only=settings.read_only,
    )
