"""
Espalier's two conditions, and the messages of the first one.

Paths, names and counts only: no field's value ever stands in a message.
"""

import enum
import re
from collections.abc import Sequence
from dataclasses import replace

from espalier.crd import Condition, Definition
from espalier.engine.ports import Endpoint
from espalier.engine.ports.progress import PassProgress
from espalier.engine.status.text import bounded
from espalier.names import AGGREGATION_LABEL, STORED_OBJECTS_CURRENT, STORED_OBJECTS_VALID
from espalier.plurals import counted


class Reason(enum.StrEnum):
    """
    Why the stored objects are current, or are not.
    """

    CURRENT = "Verified"
    PENDING = "Pending"
    OBSERVED = "Observed"
    REWRITING = "Rewriting"
    FAILED = "Failed"
    PARTIAL = "Partial"
    PARTS_UNFINISHED = "PartsUnfinished"
    NOT_NORMAL = "NotNormal"
    WOULD_LOSE_DATA = "WouldLoseData"
    CONVERSION_LOSES_DATA = "ConversionLosesData"
    NO_SCHEMA = "NoSchema"
    NON_STRUCTURAL = "NonStructural"
    FORBIDDEN = "Forbidden"
    WEBHOOK_UNAVAILABLE = "WebhookUnavailable"
    ADMISSION_MUTATES = "AdmissionMutates"
    OTHER_MIGRATION = "OtherMigration"
    SERVERS_BEHIND = "ServersBehind"
    OUTSIDE_WINDOW = "OutsideWindow"
    STORAGE_VERSION_NOT_SERVED = "StorageVersionNotServed"
    UNDECODABLE = "Undecodable"
    ARCHIVE_FULL = "ArchiveFull"
    RECORD_UNREADABLE = "RecordUnreadable"
    OTHER_OPERATOR = "OtherOperator"


_PROGRESS = re.compile(
    r"(?P<phase>[^:(]+?)(?: \(pass (?P<number>\d+)\))?:"
    r" (?P<done>\d+)(?: of (?P<total>\d+))? objects?,"
)

NOT_CHECKED = Condition(
    type=STORED_OBJECTS_VALID,
    status="Unknown",
    reason="NotChecked",
    message="stored values were not validated yet",
)


def not_checked(cause: str) -> Condition:
    """
    Make the condition for objects that could not be validated.
    """
    message = f"stored values could not be validated: {cause}"
    return replace(NOT_CHECKED, message=bounded(message))


def not_current(reason: Reason, message: str) -> tuple[Condition, ...]:
    """
    Make the condition for objects that are not shown to be current.
    """
    return _current_condition("False", reason, message)


def current(
    definition: Definition, *, objects: int | None, note: str = ""
) -> tuple[Condition, ...]:
    """
    Make the condition for objects that a verify pass has shown to be current.

    Args:
        objects: How many the pass has seen; None if that is not known any more.
        note: A sentence to add.
    """
    count = "all stored objects are" if objects is None else _all_of(objects)
    version = definition.storage.name
    message = (
        f"{count} in normal form at the storage version {version},"
        f" for generation {definition.generation}; storedVersions: {version}"
    )
    return _current_condition("True", Reason.CURRENT, f"{message}. {note}" if note else message)


def noted(conditions: Sequence[Condition], note: str) -> tuple[Condition, ...]:
    """
    Add a sentence to the first of some conditions; none if it is empty.
    """
    first, *others = conditions
    if note:
        first = replace(first, message=bounded(f"{first.message}. {note}"))
    return (first, *others)


def rewriting(
    definition: Definition, what: str, *, done: int, total: int | None
) -> tuple[Condition, ...]:
    """
    Make the condition for a pass that is under way: ``Rewriting n of m``.
    """
    objects = counted(done, "object") if total is None else f"{done} of {counted(total, 'object')}"
    message = (
        f"{what}: {objects}, storage version {definition.storage.name},"
        f" generation {definition.generation}"
    )
    return not_current(Reason.REWRITING, message)


def read_progress(condition: Condition) -> PassProgress | None:
    """
    Read back what ``rewriting`` has written; None if the condition is another one.
    """
    found = _PROGRESS.match(condition.message) if condition.reason == Reason.REWRITING else None
    if found is None:
        return None
    total = found["total"]
    return PassProgress(
        phase=found["phase"],
        number=int(found["number"] or 0),
        done=int(found["done"]),
        total=None if total is None else int(total),
    )


def forbidden_message(resource: Endpoint, verbs: Sequence[str]) -> str:
    """
    Name the rights that are missing, and the command that grants what the operator needs.
    """
    name = str(resource)
    return (
        f"the operator may not {', '.join(verbs)} {name}. Grant it:"
        f" kubectl create clusterrole espalier-{name} --verb=get,list,watch,patch,update"
        f" --resource={name},{name}/status"
        f" && kubectl label clusterrole espalier-{name} {AGGREGATION_LABEL}=true"
    )


def _all_of(objects: int) -> str:
    match objects:
        case 0:
            return "no objects are stored; what will be is"
        case 1:
            return "the one stored object is"
        case _:
            return f"all {objects} stored objects are"


def _current_condition(status: str, reason: Reason, message: str) -> tuple[Condition, ...]:
    return (
        Condition(
            type=STORED_OBJECTS_CURRENT, status=status, reason=str(reason), message=bounded(message)
        ),
    )
