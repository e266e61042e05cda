"""
The metrics: names, types, labels and meanings. Whatever is exposed stands here.
"""

from typing import Literal, NamedTuple

Kind = Literal["gauge", "counter", "histogram"]


class Metric(NamedTuple):
    """
    One metric.

    Attributes:
        name: With ``_total``, for a counter.
    """

    name: str
    kind: Kind
    labels: tuple[str, ...]
    help: str


CATALOGUE = (
    Metric("espalier_build_info", "gauge", ("version", "python"), "Always 1."),
    Metric("espalier_paused", "gauge", (), "1 while the operator is paused and writes nothing."),
    Metric("espalier_definitions", "gauge", ("mode", "structural"), "Definitions in the cluster."),
    Metric(
        "espalier_definition_condition",
        "gauge",
        ("crd", "type", "status", "reason"),
        "1 for the status and the reason that each of Espalier's conditions has now.",
    ),
    Metric(
        "espalier_definition_condition_transition_timestamp_seconds",
        "gauge",
        ("crd", "type"),
        "When the status of the condition changed last.",
    ),
    Metric(
        "espalier_definition_stored_versions",
        "gauge",
        ("crd",),
        "Entries of status.storedVersions, of every definition.",
    ),
    Metric(
        "espalier_stored_objects", "gauge", ("crd",), "Stored objects that the last survey read."
    ),
    Metric(
        "espalier_stored_objects_invalid",
        "gauge",
        ("crd", "writable"),
        "Stored objects that violate the schema; those that are not writable cannot be updated.",
    ),
    Metric(
        "espalier_stored_objects_undecodable",
        "gauge",
        ("crd",),
        "Stored objects that the API server itself cannot read.",
    ),
    Metric(
        "espalier_run_objects",
        "gauge",
        ("crd", "phase", "state"),
        "Objects of the last pass of the last run, done and remaining.",
    ),
    Metric("espalier_runs_total", "counter", ("crd", "outcome"), "Runs that have ended."),
    Metric("espalier_run_duration_seconds", "histogram", ("phase",), "Time in each phase of runs."),
    Metric(
        "espalier_object_writes_total",
        "counter",
        ("crd", "result"),
        "Objects that runs have written, or have tried to.",
    ),
    Metric(
        "espalier_written_bytes_total",
        "counter",
        (),
        "Bytes of writes that changed something in etcd, by the sizes of sampled objects.",
    ),
    Metric("espalier_budget_bytes_per_second", "gauge", (), "The limit for written bytes."),
    Metric("espalier_writes_in_flight", "gauge", (), "Writes of objects that are under way."),
    Metric("espalier_writes_in_flight_limit", "gauge", (), "The limit for writes under way."),
    Metric(
        "espalier_throttled_seconds_total",
        "counter",
        ("cause",),
        "Time in which writes were held back.",
    ),
    Metric("espalier_trims_total", "counter", ("crd",), "Trims of status.storedVersions."),
    Metric("espalier_annotations_total", "counter", ("crd",), "Annotations written to objects."),
    Metric("espalier_pruned_fields_total", "counter", (), "Fields that Espalier itself removed."),
    Metric("espalier_archive_bytes", "gauge", (), "Stored bytes of the archive of removed data."),
    Metric("espalier_archive_limit_bytes", "gauge", (), "The limit for the archive."),
    Metric("espalier_survey_timestamp_seconds", "gauge", ("crd",), "When the last survey ended."),
    Metric(
        "espalier_run_success_timestamp_seconds",
        "gauge",
        ("crd",),
        "When the last run ended that found all stored objects current.",
    ),
    Metric(
        "espalier_resync_timestamp_seconds",
        "gauge",
        (),
        "When all definitions were listed last.",
    ),
    Metric("espalier_watch_restarts_total", "counter", (), "Watches of objects that began anew."),
    Metric(
        "leader_election_master_status",
        "gauge",
        ("name",),
        "1 for each Lease that this process holds.",
    ),
    Metric("workqueue_depth", "gauge", ("name",), "Names that wait in a queue."),
    Metric("workqueue_retries_total", "counter", ("name",), "Names that were tried again."),
    Metric(
        "rest_client_requests_total",
        "counter",
        ("code", "method"),
        "Requests to the API server, without those of Kopf's own watch.",
    ),
    Metric(
        "rest_client_request_duration_seconds",
        "histogram",
        ("verb",),
        "Time until the API server began its response.",
    ),
)
