"""
How the end of a run is counted.
"""

from collections.abc import Mapping
from types import MappingProxyType

from espalier.engine.runs.outcome import RunOutcome
from espalier.engine.status.conditions import Reason
from espalier.observe.state import OBSERVED

FAILED, STOPPED = "failed", "stopped"

_OUTCOMES: Mapping[str, str] = MappingProxyType(
    {
        Reason.CURRENT: "verified",
        Reason.PARTIAL: "partial",
        Reason.OBSERVED: OBSERVED,
        Reason.FAILED: FAILED,
        Reason.UNDECODABLE: FAILED,
        Reason.NOT_NORMAL: FAILED,
    }
)


def outcome_of(ended: RunOutcome) -> str:
    """
    Return how a run is counted; whatever needs a person, or time, counts as stopped.
    """
    return _OUTCOMES.get(ended.reason, STOPPED)
