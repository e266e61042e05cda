"""
Makes metrics from the record, for a scrape; nothing is kept between two scrapes.

Only labelled definitions have the label ``crd``, except in the count of stored versions. No object,
no path and no message is ever a label. The series of a definition go when it goes, or its label.
"""

import platform
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from typing import Protocol

from prometheus_client import GCCollector, ProcessCollector, disable_created_metrics
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector, CollectorRegistry

from espalier.cluster.figures import Durations, RequestFigures
from espalier.engine.flowcontrol.budget import Budget
from espalier.engine.ports.state import Bucket
from espalier.observe.catalogue import CATALOGUE
from espalier.observe.recorder import Recorder
from espalier.observe.state import DefinitionState, Snapshot

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# The phases of a run, by what progress calls them.
PASS_PHASES: Mapping[str, str] = {"rewriting": "rewrite", "verifying": "verify"}

# Others appear with the first one that is counted.
_ALWAYS_WRITES = frozenset({"rewritten", "unchanged"})
_ALWAYS_OUTCOMES = ("verified", "failed")


class BucketFigures(Protocol):
    """
    The buckets of definitions, as they are counted.
    """

    @property
    def is_paused(self) -> bool:
        """
        Whether the operator writes nothing, as a person asked for.
        """

    def list_held(self) -> Iterable[Bucket]:
        """
        List the buckets whose leases are held.
        """


class QueueFigures(Protocol):
    """
    A work queue, as it is counted.

    Attributes:
        retries: How many names have failed and were put in again.
    """

    retries: int

    @property
    def depth(self) -> int:
        """
        How many names wait.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """
    What is read at each scrape.
    """

    recorder: Recorder
    budget: Budget
    requests: RequestFigures
    queue: QueueFigures
    buckets: BucketFigures


class Families:
    """
    The families of the catalogue, as they are filled.
    """

    def __init__(self) -> None:
        kinds = {
            "gauge": GaugeMetricFamily,
            "counter": CounterMetricFamily,
            "histogram": HistogramMetricFamily,
        }
        self._families: dict[str, Family] = {
            one.name: kinds[one.kind](one.name, one.help, labels=one.labels) for one in CATALOGUE
        }

    def __iter__(self) -> Iterator[Family]:
        return iter(self._families.values())

    def add(self, name: str, value: float, *labels: str) -> None:
        """
        Add a series of a gauge or a counter.
        """
        family = self._families[name]
        assert isinstance(family, (GaugeMetricFamily, CounterMetricFamily))  # noqa: S101
        family.add_metric(labels, value)

    def add_durations(self, name: str, found: Durations, *labels: str) -> None:
        """
        Add a histogram.
        """
        family = self._families[name]
        assert isinstance(family, HistogramMetricFamily)  # noqa: S101 - of the catalogue
        bounds = [*map(str, found.bounds_seconds), "+Inf"]
        buckets = list(zip(bounds, accumulate(found.buckets), strict=True))
        family.add_metric(labels, buckets=buckets, sum_value=found.sum_seconds)


class _StateCollector(Collector):
    """
    Reads the sources at each scrape.
    """

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def describe(self) -> Sequence[Family]:
        """
        Name nothing in advance.
        """
        return ()

    def collect(self) -> Iterator[Family]:
        """
        Make all families.
        """
        families = Families()
        snapshot = self._sources.recorder.snapshot()
        _add_definitions(families, snapshot)
        for definition in snapshot.labelled:
            _add_labelled(families, definition)
        _add_process(families, snapshot, self._sources)
        return iter(families)


def registry_of(sources: Sources) -> CollectorRegistry:
    """
    Make a registry of all metrics; it has nothing in common with the library's global one.
    """
    # Else each counter has a second series for when it began.
    disable_created_metrics()  # type: ignore[no-untyped-call]  # the library has no types there
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    GCCollector(registry=registry)
    registry.register(_StateCollector(sources))
    return registry


def exposition(registry: CollectorRegistry) -> bytes:
    """
    Write all metrics in Prometheus' text format.
    """
    return generate_latest(registry)


def _add_definitions(families: Families, snapshot: Snapshot) -> None:
    python = platform.python_version()
    families.add("espalier_build_info", 1, snapshot.version, python)
    kinds = Counter((one.mode or "off", one.is_structural) for one in snapshot.definitions)
    for (mode, is_structural), count in sorted(kinds.items(), key=str):
        structural = "unknown" if is_structural is None else str(is_structural).lower()
        families.add("espalier_definitions", count, mode, structural)
    for one in snapshot.definitions:
        families.add("espalier_definition_stored_versions", len(one.stored_versions), one.name)


def _add_labelled(families: Families, one: DefinitionState) -> None:
    crd = one.name
    for found in one.conditions:
        labels = (crd, found.type, found.status, found.reason)
        families.add("espalier_definition_condition", 1, *labels)
        if found.last_transition_time:
            families.add(
                "espalier_definition_condition_transition_timestamp_seconds",
                timestamp_seconds(found.last_transition_time),
                crd,
                found.type,
            )
    if one.survey is not None:
        survey = one.survey
        invalid = "espalier_stored_objects_invalid"
        families.add("espalier_stored_objects", survey.objects, crd)
        families.add(invalid, survey.invalid - survey.unwritable, crd, "true")
        families.add(invalid, survey.unwritable, crd, "false")
        families.add("espalier_stored_objects_undecodable", survey.undecodable, crd)
    if one.progress is not None:
        phase = PASS_PHASES.get(one.progress.phase, "retry")
        families.add("espalier_run_objects", one.progress.done, crd, phase, "done")
        if one.progress.total is not None:
            remaining = max(one.progress.total - one.progress.done, 0)
            families.add("espalier_run_objects", remaining, crd, phase, "remaining")
    _add_counters(families, one)
    for name, when in (
        ("espalier_survey_timestamp_seconds", one.surveyed_at),
        ("espalier_run_success_timestamp_seconds", one.succeeded_at),
    ):
        if when:
            families.add(name, timestamp_seconds(when), crd)


def _add_counters(families: Families, one: DefinitionState) -> None:
    counters, crd = one.counters, one.name
    for result, count in counters.writes._asdict().items():
        if count or result in _ALWAYS_WRITES:
            families.add("espalier_object_writes_total", count, crd, result)
    runs = dict.fromkeys(_ALWAYS_OUTCOMES, 0) | dict(counters.runs)
    for outcome, count in runs.items():
        families.add("espalier_runs_total", count, crd, outcome)
    families.add("espalier_trims_total", counters.trims, crd)
    families.add("espalier_annotations_total", counters.annotations, crd)


def _add_process(families: Families, snapshot: Snapshot, sources: Sources) -> None:
    recorder, budget, queue = sources.recorder, sources.budget, sources.queue
    families.add("espalier_paused", float(sources.buckets.is_paused))
    for phase, found in recorder.phase_seconds.items():
        families.add_durations("espalier_run_duration_seconds", found, phase)
    families.add("espalier_written_bytes_total", budget.figures.written_bytes)
    families.add("espalier_budget_bytes_per_second", budget.bytes_per_second)
    families.add("espalier_writes_in_flight", budget.in_flight)
    families.add("espalier_writes_in_flight_limit", budget.max_in_flight)
    for cause, seconds in budget.figures.throttled_seconds.items():
        families.add("espalier_throttled_seconds_total", seconds, cause)
    families.add("espalier_pruned_fields_total", recorder.pruned_fields)
    if snapshot.archive is not None:
        families.add("espalier_archive_bytes", snapshot.archive.held_bytes)
        families.add("espalier_archive_limit_bytes", snapshot.archive.max_bytes)
    if recorder.resynced_at:
        resynced = timestamp_seconds(recorder.resynced_at)
        families.add("espalier_resync_timestamp_seconds", resynced)
    families.add("espalier_watch_restarts_total", recorder.watch_restarts)
    held = [one.name for one in sources.buckets.list_held()]
    for name in sorted({*recorder.leases, *held}):
        families.add("leader_election_master_status", 1, name)
    families.add("workqueue_depth", queue.depth, "definitions")
    families.add("workqueue_retries_total", queue.retries, "definitions")
    for (method, code), count in sorted(sources.requests.counts.items()):
        families.add("rest_client_requests_total", count, code, method)
    for method, found in sorted(sources.requests.latencies.items()):
        families.add_durations("rest_client_request_duration_seconds", found, method)


def timestamp_seconds(text: str) -> float:
    """
    Return the seconds since 1970 of an RFC 3339 time; 0 for anything else.
    """
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return 0.0
