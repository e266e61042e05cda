"""
Has the server store one object anew, by a patch that changes nothing.

An object is done when such a patch was answered with the resource version unchanged, or when it is
gone. A changed one shows that the patch replaced stale bytes; the next pass proves it.
"""

import enum
from typing import NamedTuple, Protocol, TypeAlias

from espalier.engine.coordination.write_gate import LeftAlone
from espalier.engine.flowcontrol.backoff import call_pause_seconds, jittered_seconds
from espalier.engine.flowcontrol.pacer import Pacer, Turn
from espalier.engine.ports import ObjectKey
from espalier.engine.ports.clock import Clock
from espalier.engine.ports.servers import NotSentError, ServerBehindError
from espalier.engine.status.causes import cause_of, kind_of, unreached_webhook
from espalier.errors import (
    ClusterError,
    ConflictError,
    ConversionError,
    ForbiddenError,
    NotFoundError,
    RejectedError,
    TransientError,
)

MAX_ATTEMPTS = 8


UNPROCESSABLE = 422

UNGUARDED = "it has no uid or no resourceVersion, so that no write to it can be guarded"


class Rewritten(NamedTuple):
    """
    The stored bytes were not right before.

    Attributes:
        is_pruned: Whether Espalier itself has removed something.
        calls: How many writes it took at the last attempt.
        was_at_storage_version: Whether the bytes before were shown to be at the storage version, so
            that they were only not in normal form.
        writers: The field managers that wrote it through another version.
    """

    is_pruned: bool = False
    calls: int = 1
    was_at_storage_version: bool = False
    writers: tuple[str, ...] = ()


class Unchanged(NamedTuple):
    """
    The stored bytes were right already.
    """


class Gone(NamedTuple):
    """
    Nothing is stored any more.
    """


class FailureKind(enum.Enum):
    """
    The kinds of failure that are handled differently.

    Attributes:
        REJECTED: The server's validation, or admission, refuses this object.
        FORBIDDEN: A right may be missing, and then for all objects.
        CONFLICT: Another client has written the object before each try.
        UNANSWERED: The server is busy, or cannot serve the call now.
        UNREACHED: An admission webhook could not be called, and its failure policy is ``Fail``.
    """

    REJECTED = enum.auto()
    FORBIDDEN = enum.auto()
    CONFLICT = enum.auto()
    UNANSWERED = enum.auto()
    UNREACHED = enum.auto()


class Failed(NamedTuple):
    """
    The object was left as it is.

    Attributes:
        cause: Without any value of the object.
        kind: What causes are grouped by; empty if by the cause itself.
        is_alone: Other objects were written meanwhile, or nothing had to be written to them.
    """

    cause: str
    kind: str = ""
    why: FailureKind = FailureKind.REJECTED
    is_alone: bool = True

    @property
    def is_forbidden(self) -> bool:
        """
        Whether a right may be missing.
        """
        return self.why is FailureKind.FORBIDDEN


WriteResult: TypeAlias = Rewritten | Unchanged | Gone | LeftAlone | Failed


class Wait(NamedTuple):
    """
    Make the same call again after a pause.
    """

    seconds: float


class ReadAgain(NamedTuple):
    """
    Read the object, and try again with what it is now.
    """


def after_failure(error: ClusterError, *, attempt: int) -> Gone | Wait | ReadAgain | Failed:
    """
    Decide what follows a write that failed.

    Args:
        attempt: How many calls were made for this object, from 1.
    """
    if isinstance(error, NotFoundError) and error.is_object:
        return Gone()
    if attempt >= MAX_ATTEMPTS:
        return _failed(error)
    match error:
        case ConflictError():
            return ReadAgain()
        case RejectedError() if _is_another_object(error):
            return ReadAgain()
        case TransientError(retry_after_seconds=asked):
            return Wait(call_pause_seconds(attempt, asked_seconds=asked))
        case NotFoundError():
            # One of several servers does not serve the resource yet, or not any more.
            return Wait(call_pause_seconds(attempt))
        case _:
            return _failed(error)


class Attempt(Protocol):
    """
    What may have to be done several times for one object.
    """

    @property
    def key(self) -> ObjectKey:
        """
        Which object.
        """

    async def attempt(self) -> WriteResult:
        """
        Try once.

        Raises:
            ClusterError: It failed; what to do next is decided by ``after_failure``.
        """

    def note(self, error: ClusterError, *, reads_again: bool) -> None:
        """
        Record a failure before the next attempt; ``reads_again`` if the object must be read anew.
        """


async def retry_until_decided(what: Attempt, clock: Clock, pacer: Pacer) -> WriteResult:
    """
    Try until it is decided, with bounded retries; of a cluster's errors one comes out of it.

    Raises:
        ConversionError: The conversion webhook does not answer; no more must be written.
        ServerBehindError: No server that is reached stores the storage version yet.
    """
    attempt = conflicts = 0
    successes_before = pacer.successes
    while True:
        attempt += 1
        try:
            async with pacer.turn() as turn:
                fate = await what.attempt()
                _count_success(fate, turn)
        except (ConversionError, ServerBehindError):
            raise
        except ClusterError as error:
            if isinstance(error, TransientError) and not isinstance(error, NotSentError):
                pacer.struggled(error)
            decision = after_failure(error, attempt=attempt)
            match decision:
                case Gone():
                    return decision
                case Failed():
                    return decision._replace(is_alone=pacer.successes > successes_before)
                case Wait(seconds):
                    what.note(error, reads_again=False)
                    await clock.sleep(jittered_seconds(seconds, str(what.key)))
                case ReadAgain():
                    what.note(error, reads_again=True)
                    await _give_way(what.key, conflicts, clock)
                    conflicts += 1
        else:
            return fate


def _count_success(fate: WriteResult, turn: Turn) -> None:
    # No write was sent for an object that was left alone.
    if not isinstance(fate, LeftAlone):
        calls = fate.calls if isinstance(fate, Rewritten) else 1
        turn.succeeded(written=isinstance(fate, Rewritten), calls=calls)


async def _give_way(key: ObjectKey, conflicts_before: int, clock: Clock) -> None:
    # The first conflict means that the list was old by then; more of them, that another client
    # keeps writing the object.
    if conflicts_before:
        await clock.sleep(jittered_seconds(call_pause_seconds(conflicts_before), str(key)))


def _failed(error: ClusterError) -> Failed:
    match error:
        case ForbiddenError():
            why = FailureKind.FORBIDDEN
        case ConflictError():
            why = FailureKind.CONFLICT
        case TransientError() | NotFoundError():
            why = (
                FailureKind.UNANSWERED
                if unreached_webhook(error) is None
                else FailureKind.UNREACHED
            )
        case _:
            why = FailureKind.REJECTED
    return Failed(cause_of(error), kind_of(error), why)


def _is_another_object(error: RejectedError) -> bool:
    # The server's message: metadata.uid: Invalid value: "...": field is immutable.
    texts = (*error.causes, error.detail)
    return error.status == UNPROCESSABLE and any("metadata.uid" in text for text in texts)
