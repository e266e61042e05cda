"""
The condition that names where a definition's record is kept, and what is in it.

The record belongs to the definition, not to a namespace: every process that works on the
definition checks by this condition that the record is the definition's own, exists, and is the one
that was written last. A record that fails such a check is an error; it never counts as no record.

A record is written before its pointer, and names the digest of the one before, so that a process
that ends in between leaves a pointer that still holds.
"""

import re
from collections.abc import Collection
from typing import NamedTuple

from espalier import names
from espalier.crd import Condition, Definition
from espalier.engine.ports.state import OtherOperatorError, RecordUnreadableError

KEPT = "Kept"
"""The reason of the condition."""

_MESSAGE = re.compile(
    r"kept in the ConfigMap ([a-z0-9][-a-z0-9.]*)/([a-z0-9][-a-z0-9.]*), digest ([0-9a-f]{32})",
    re.ASCII,
)


class Home(NamedTuple):
    """
    The ConfigMap that holds a record.
    """

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class RecordPointer(NamedTuple):
    """
    Where a record is kept, and its digest.
    """

    home: Home
    digest: str

    def condition(self) -> Condition:
        """
        Render the condition.
        """
        return Condition(
            type=names.RECORD,
            status="True",
            reason=KEPT,
            message=f"kept in the ConfigMap {self.home}, digest {self.digest}",
        )


def read_pointer(definition: Definition) -> RecordPointer | None:
    """
    Read the pointer of a definition; None if it has none.

    Raises:
        RecordUnreadableError: There is one of another form.
    """
    condition = definition.condition(names.RECORD)
    if condition is None:
        return None
    match = _MESSAGE.fullmatch(condition.message)
    if match is None or (condition.status, condition.reason) != ("True", KEPT):
        raise RecordUnreadableError(
            definition.name,
            f"the condition {names.RECORD} does not say where the record is kept; it was written by"
            " another version of Espalier, or changed by hand",
        )
    namespace, name, digest = match.groups()
    return RecordPointer(Home(namespace, name), digest)


def check_pointer(
    definition: Definition, pointer: RecordPointer | None, home: Home, digests: Collection[str]
) -> None:
    """
    Check that the record found in this process's namespace is the one that the pointer names.

    Args:
        home: Where this process keeps records.
        digests: Of the record found there, and of the one before it; none if none was found.

    Raises:
        OtherOperatorError: The record is kept elsewhere.
        RecordUnreadableError: It is gone, or it is another one.
    """
    if pointer is None:
        return
    if pointer.home != home:
        raise OtherOperatorError(definition.name, str(pointer.home), str(home))
    if not digests:
        raise RecordUnreadableError(definition.name, f"the ConfigMap {home} is gone")
    if pointer.digest not in digests:
        raise RecordUnreadableError(
            definition.name,
            f"the ConfigMap {home} holds another record than the one that was written last, as"
            " after a restore from a backup",
        )
