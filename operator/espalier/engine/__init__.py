"""
Decides what happens to stored objects, and drives it through ``espalier.engine.ports``.

No HTTP, no Kopf, no clock of its own. A run is: plan, prove that nothing is lost, rewrite, settle,
verify, trim. ``run`` does it once, ``tend`` keeps the objects of a legacy definition in form
afterwards, and ``restore`` brings back what pruning removed.
"""

from espalier.engine.archives import export_archive, old_pages, remove_pages
from espalier.engine.comparing import ConversionLoss
from espalier.engine.conditions import (
    NOT_CHECKED,
    STORED_OBJECTS_CURRENT,
    STORED_OBJECTS_VALID,
    Reason,
)
from espalier.engine.counting import Counts, PathCount
from espalier.engine.guarding import purpose_of
from espalier.engine.losing import Loss
from espalier.engine.outcomes import Outcome
from espalier.engine.planning import (
    Legacy,
    ServerPruned,
    Stop,
    plan,
    run_key,
)
from espalier.engine.policies import Mode, Policy, read_policy
from espalier.engine.restoring import Refusal, RestoreReport, restore, restore_alone
from espalier.engine.retrying import FORBIDDEN_PAUSE_SECONDS, run_pause_seconds
from espalier.engine.running import run
from espalier.engine.settings import Ports, RunSettings
from espalier.engine.surveying import Normalising, Scope, Survey, Surveyor, survey
from espalier.engine.tallying import Totals
from espalier.engine.tending import tend

__all__ = [
    "FORBIDDEN_PAUSE_SECONDS",
    "NOT_CHECKED",
    "STORED_OBJECTS_CURRENT",
    "STORED_OBJECTS_VALID",
    "ConversionLoss",
    "Counts",
    "Legacy",
    "Loss",
    "Mode",
    "Normalising",
    "Outcome",
    "PathCount",
    "Policy",
    "Ports",
    "Reason",
    "Refusal",
    "RestoreReport",
    "RunSettings",
    "Scope",
    "ServerPruned",
    "Stop",
    "Survey",
    "Surveyor",
    "Totals",
    "export_archive",
    "old_pages",
    "plan",
    "purpose_of",
    "read_policy",
    "remove_pages",
    "restore",
    "restore_alone",
    "run",
    "run_key",
    "run_pause_seconds",
    "survey",
    "tend",
]
