"""
A switch by which a person has an operator write nothing, wherever that may be.

Before each write the switch is read, unless that was done just before. So what counts is not how
soon a change is noticed, and an operator that writes nothing hardly reads it.
"""

import asyncio
import logging

from espalier.engine.flowcontrol.calls import wait_for_any
from espalier.engine.ports.clock import Clock
from espalier.engine.ports.state import PauseSwitch
from espalier.errors import ClusterError

logger = logging.getLogger(__name__)

MAX_AGE_SECONDS = 0.5
"""No write is begun on knowledge of the switch that is older: a pause works within a second."""

BUSY_SECONDS = 5.0
"""For so long after a write the switch is read again and again, so that work ends soon."""

IDLE_LOOK_SECONDS = 5.0
"""How often it is read while nothing is written."""

LOG_AGAIN_SECONDS = 60.0
"""How often it is logged that the switch cannot be read."""


class Pause:
    """
    What is known of the switch.

    Args:
        is_permanent: Whether the process is paused as long as it runs, whatever the switch shows.

    Attributes:
        is_on: Whether nothing must be written; also as long as the switch was never read.
        known: Set once it was read.
    """

    def __init__(self, switch: PauseSwitch, clock: Clock, *, is_permanent: bool = False) -> None:
        self._switch = switch
        self._clock = clock
        self._is_permanent = is_permanent
        self.is_on = True
        self.known = asyncio.Event()
        if is_permanent:
            self.known.set()
        self._read_at_seconds = self._confirmed_at_seconds = float("-inf")
        self._reading = asyncio.Lock()
        self._reads = 0
        self._failure: ClusterError | None = None
        self._failure_logged_at_seconds = float("-inf")
        self._write_begins = asyncio.Event()

    async def confirm(self) -> bool:
        """
        Return whether nothing must be written; read the switch, unless that was done just before.

        Raises:
            ClusterError: It cannot be read.
        """
        self._note_write()
        if self._is_fresh():
            return self.is_on
        reads_before = self._reads
        async with self._reading:
            # Of many that wait, the first one reads; what it has found holds for all of them.
            if not self._is_fresh():
                if self._reads > reads_before and self._failure is not None:
                    raise self._failure.replaced()
                await self._read()
        return self.is_on

    def is_known_off(self) -> bool:
        """
        Report whether it is known from just before that a write may begin; read nothing.
        """
        self._note_write()
        return self._is_fresh() and not self.is_on

    async def follow(self) -> None:
        """
        Read the switch again and again: often while writes begin, or until a pause ends.
        """
        while not self._is_permanent:
            try:
                async with self._reading:
                    await self._read()
            except ClusterError as error:
                self._log_failure(error)
            idle_seconds = self._clock.monotonic_seconds() - self._confirmed_at_seconds
            if not self.is_on and idle_seconds >= BUSY_SECONDS:
                self._write_begins.clear()
                await wait_for_any(self._clock, IDLE_LOOK_SECONDS, self._write_begins)
            else:
                await self._clock.sleep(MAX_AGE_SECONDS)

    def _note_write(self) -> None:
        self._confirmed_at_seconds = self._clock.monotonic_seconds()
        self._write_begins.set()

    def _is_fresh(self) -> bool:
        age_seconds = self._clock.monotonic_seconds() - self._read_at_seconds
        return self._is_permanent or age_seconds <= MAX_AGE_SECONDS

    async def _read(self) -> None:
        # Counted from before the call: the switch may have been set right afterwards.
        asked_seconds = self._clock.monotonic_seconds()
        try:
            is_on = await self._switch.is_set()
        except ClusterError as error:
            self._failure = error
            raise
        finally:
            self._reads += 1
        self._failure = None
        if self._failure_logged_at_seconds > float("-inf"):
            logger.info("The pause switch can be read again.")
            self._failure_logged_at_seconds = float("-inf")
        if is_on and not (self.is_on and self.known.is_set()):
            logger.warning("The operator is paused: it writes nothing.")
        elif self.known.is_set() and self.is_on and not is_on:
            logger.warning("The pause is over.")
        self.is_on, self._read_at_seconds = is_on, asked_seconds
        self.known.set()

    def _log_failure(self, error: ClusterError) -> None:
        # The first one, and then a reminder now and then.
        now_seconds = self._clock.monotonic_seconds()
        if now_seconds - self._failure_logged_at_seconds >= LOG_AGAIN_SECONDS:
            self._failure_logged_at_seconds = now_seconds
            logger.warning("Could not read the pause switch.", extra={"error": str(error)})
