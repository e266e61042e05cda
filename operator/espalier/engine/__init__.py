"""
Decides what happens to stored objects, and drives it through ``espalier.engine.ports``.

No HTTP, no Kopf, no clock of its own. A run is: plan, prove that nothing is lost, rewrite, settle,
verify, trim. ``run`` does it once, ``keep_pruned`` prunes the objects of a legacy definition that
are written afterwards, and ``restore`` brings back what pruning removed.
"""

from espalier.engine.controller.loop import keep_pruned
from espalier.engine.conversion.comparison import ConversionLoss
from espalier.engine.coordination.definition_guard import run_identity
from espalier.engine.coordination.rehearsed_ports import rehearsed
from espalier.engine.flowcontrol.backoff import FORBIDDEN_PAUSE_SECONDS, run_pause_seconds
from espalier.engine.flowcontrol.budget import Budget
from espalier.engine.legacy.archive_pages import (
    Copied,
    export_archive,
    old_pages,
    remove_pages,
    total_bytes,
)
from espalier.engine.legacy.inverse_patches import additions
from espalier.engine.legacy.restoration import Refusal, RestoreReport, restore, restore_alone
from espalier.engine.parts.finish import finish_parts
from espalier.engine.parts.part_run import work_on_part
from espalier.engine.policy.consent import ShownLoss, is_digest
from espalier.engine.policy.labels import Mode, Policy, read_policy
from espalier.engine.policy.loss_message import describe_loss, is_unprovable
from espalier.engine.policy.plan import Legacy, ServerPruned, Stop, plan, run_key
from espalier.engine.runs.gate_opening import gate_alone
from espalier.engine.runs.outcome import RunOutcome
from espalier.engine.runs.roles import roles_of
from espalier.engine.runs.run import run
from espalier.engine.runs.uninstall import Trace, TraceRemover, find_record, find_traces
from espalier.engine.settings import Ports, RecordPorts, RunSettings
from espalier.engine.status.conditions import NOT_CHECKED, Reason
from espalier.engine.status.path_counts import Counts, PathCount
from espalier.engine.status.tally import Totals
from espalier.engine.status.text import enumerated
from espalier.engine.surveys.forecast import Forecast, forecast_of
from espalier.engine.surveys.report import Normalising, Survey
from espalier.engine.surveys.survey import Scope, survey
from espalier.engine.surveys.surveyor import Surveyor
from espalier.engine.surveys.version_use import VersionUse, version_use

__all__ = [
    "FORBIDDEN_PAUSE_SECONDS",
    "NOT_CHECKED",
    "Budget",
    "ConversionLoss",
    "Copied",
    "Counts",
    "Forecast",
    "Legacy",
    "Mode",
    "Normalising",
    "PathCount",
    "Policy",
    "Ports",
    "Reason",
    "RecordPorts",
    "Refusal",
    "RestoreReport",
    "RunOutcome",
    "RunSettings",
    "Scope",
    "ServerPruned",
    "ShownLoss",
    "Stop",
    "Survey",
    "Surveyor",
    "Totals",
    "Trace",
    "TraceRemover",
    "VersionUse",
    "additions",
    "describe_loss",
    "enumerated",
    "export_archive",
    "find_record",
    "find_traces",
    "finish_parts",
    "forecast_of",
    "gate_alone",
    "is_digest",
    "is_unprovable",
    "keep_pruned",
    "old_pages",
    "plan",
    "read_policy",
    "rehearsed",
    "remove_pages",
    "restore",
    "restore_alone",
    "roles_of",
    "run",
    "run_identity",
    "run_key",
    "run_pause_seconds",
    "survey",
    "total_bytes",
    "version_use",
    "work_on_part",
]
