"""
Why a run ended: an error as a reason and a message for people.
"""

from collections.abc import Mapping
from http import HTTPStatus

from espalier.crd import Definition
from espalier.engine.ports import Endpoint
from espalier.engine.ports.archive import ROOM
from espalier.engine.ports.records import resource_of
from espalier.engine.ports.servers import ServerBehindError
from espalier.engine.ports.state import OtherOperatorError, RecordUnreadableError
from espalier.engine.status.causes import message_of
from espalier.engine.status.conditions import Reason, forbidden_message
from espalier.errors import (
    ArchiveFullError,
    ClusterError,
    ConversionError,
    EspalierError,
    ForbiddenError,
    LeaseLostError,
    NamespaceGoneError,
    NotFoundError,
    NothingServedError,
    RunStoppedError,
    SchemaParseError,
)

_ARCHIVE_ADVICE = (
    f"what cannot be archived is not pruned. {ROOM}; or specify in the schema what is to be kept"
)
# Errors whose own message describes what to do.
_SELF_EXPLAINED: Mapping[type[EspalierError], Reason] = {
    NothingServedError: Reason.STORAGE_VERSION_NOT_SERVED,
    RecordUnreadableError: Reason.RECORD_UNREADABLE,
    OtherOperatorError: Reason.OTHER_OPERATOR,
}
AGAIN = "the run is tried again"


def why_stopped(definition: Definition, error: EspalierError) -> tuple[Reason, str]:
    """
    Turn what ended a run into a reason and a message, without any value of an object.
    """
    match error:
        case RunStoppedError(reason=reason, detail=detail):
            return Reason(reason), detail
        case ArchiveFullError(detail=detail):
            return Reason.ARCHIVE_FULL, f"{detail}; {_ARCHIVE_ADVICE}"
        case LeaseLostError(detail=detail):
            return Reason.PENDING, f"{error}; {AGAIN if detail else 'this run waits for it'}"
        case NothingServedError() | RecordUnreadableError() | OtherOperatorError():
            return _SELF_EXPLAINED[type(error)], str(error)
        case SchemaParseError():
            return Reason.NON_STRUCTURAL, f"{error}; nothing is done"
        case ClusterError():
            return _of_the_cluster(definition, error)
        case _:
            return Reason.FAILED, f"{error}; {AGAIN}"


def behind_message(definition: Definition) -> str:
    """
    Describe API servers that do not store the storage version yet.
    """
    return (
        f"an API server still stores another version than {definition.storage.name}, as its"
        " discovery shows. Nothing is written through it, and storedVersions stays as it is until"
        " no server that is reached is behind"
    )


def _of_the_cluster(definition: Definition, error: ClusterError) -> tuple[Reason, str]:
    resource = resource_of(definition, definition.storage)
    match error:
        case ForbiddenError():
            return Reason.FORBIDDEN, _forbidden(resource, error)
        case NamespaceGoneError():
            return Reason.FAILED, _without_namespace(error)
        case NotFoundError() if _is_about(error, resource):
            return Reason.PENDING, f"{resource} is not served yet, or not any more"
        case ServerBehindError():
            return Reason.SERVERS_BEHIND, f"{behind_message(definition)}; {AGAIN}"
        case ConversionError():
            return Reason.WEBHOOK_UNAVAILABLE, (
                f"the conversion webhook did not answer as it must ({message_of(error)});"
                " nothing more is written until it does. If it is gone for good and the versions"
                " have the same fields, set spec.conversion to strategy: None"
            )
        case _:
            return Reason.FAILED, f"{message_of(error)}; {AGAIN}"


def _forbidden(resource: Endpoint, error: ForbiddenError) -> str:
    if error.status == HTTPStatus.UNAUTHORIZED:
        return (
            f"the API server does not accept the credentials of this process ({message_of(error)});"
            f" renew them, {AGAIN}"
        )
    if _is_about(error, resource):
        return forbidden_message(resource, (error.verb,))
    return f"{message_of(error)}; {AGAIN}"


def _without_namespace(error: NamespaceGoneError) -> str:
    where = f"namespace {error.namespace}, where Espalier keeps leases, checkpoints and archives,"
    if error.is_terminating:
        what = "is being deleted: create it anew when it is gone"
    else:
        what = "does not exist: create it"
    return f"{where} {what}, or name another one by --operator-namespace; {AGAIN}"


def _is_about(error: ClusterError, resource: Endpoint) -> bool:
    # Errors name an object behind its resource.
    return error.resource.partition(" ")[0] == str(resource)
