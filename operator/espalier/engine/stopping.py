"""
Why a run ended: an error as a reason and a message for people.
"""

from espalier.crd import Definition
from espalier.engine.causes import cause_of
from espalier.engine.conditions import Reason, forbidden_message
from espalier.engine.planning import resource_of
from espalier.errors import (
    ArchiveFullError,
    ClusterError,
    ConversionError,
    EspalierError,
    ForbiddenError,
    LeaseLostError,
    NotFoundError,
    NothingServedError,
    RunStoppedError,
    SchemaParseError,
)

_ARCHIVE_ADVICE = (
    "what cannot be archived is not pruned. Move the archive's Secrets elsewhere,"
    " or specify in the schema what is to be kept"
)


def why_stopped(definition: Definition, error: EspalierError) -> tuple[Reason, str]:
    """
    Turn what ended a run into a reason and a message, without any value of an object.
    """
    match error:
        case RunStoppedError(reason=reason, detail=detail):
            return Reason(reason), detail
        case ArchiveFullError(detail=detail):
            return Reason.ARCHIVE_FULL, f"{detail}; {_ARCHIVE_ADVICE}"
        case LeaseLostError():
            return Reason.PENDING, f"{error}; this run waits for it"
        case NothingServedError():
            return Reason.STORAGE_VERSION_NOT_SERVED, str(error)
        case SchemaParseError():
            return Reason.NON_STRUCTURAL, f"{error}; nothing is done"
        case ClusterError():
            return _of_the_cluster(definition, error)
        case _:
            return Reason.FAILED, f"{error}; the run is tried again"


def _of_the_cluster(definition: Definition, error: ClusterError) -> tuple[Reason, str]:
    resource = resource_of(definition, definition.storage)
    match error:
        case ForbiddenError(verb=verb):
            return Reason.FORBIDDEN, forbidden_message(resource, (verb,))
        case NotFoundError():
            return Reason.PENDING, f"{resource} is not served yet, or not any more"
        case ConversionError():
            return Reason.WEBHOOK_UNAVAILABLE, (
                f"the conversion webhook did not answer as it must ({error.verb} {error.resource}:"
                f" {cause_of(error)}); nothing more is written until it does"
            )
        case _:
            return Reason.FAILED, (
                f"{error.verb} {error.resource}: {cause_of(error)}; the run is tried again"
            )
