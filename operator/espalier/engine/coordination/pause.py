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
        self._write_begins = asyncio.Event()

    async def confirm(self) -> bool:
        """
        Return whether nothing must be written; read the switch, unless that was done just before.

        Raises:
            ClusterError: It cannot be read.
        """
        self._confirmed_at_seconds = self._clock.monotonic_seconds()
        self._write_begins.set()
        if not self._is_fresh():
            async with self._reading:
                # Of many that wait, the first one reads.
                if not self._is_fresh():
                    await self._read()
        return self.is_on

    async def follow(self) -> None:
        """
        Read the switch again and again: often while writes begin, or until a pause ends.
        """
        while not self._is_permanent:
            try:
                await self._read()
            except ClusterError as error:
                logger.warning("Could not read the pause switch.", extra={"error": str(error)})
            idle_seconds = self._clock.monotonic_seconds() - self._confirmed_at_seconds
            if not self.is_on and idle_seconds >= BUSY_SECONDS:
                self._write_begins.clear()
                await wait_for_any(self._clock, IDLE_LOOK_SECONDS, self._write_begins)
            else:
                await self._clock.sleep(MAX_AGE_SECONDS)

    def _is_fresh(self) -> bool:
        age_seconds = self._clock.monotonic_seconds() - self._read_at_seconds
        return self._is_permanent or age_seconds <= MAX_AGE_SECONDS

    async def _read(self) -> None:
        # Counted from before the call: the switch may have been set right afterwards.
        asked_seconds = self._clock.monotonic_seconds()
        is_on = await self._switch.is_set()
        if is_on and not (self.is_on and self.known.is_set()):
            logger.warning("The operator is paused: it writes nothing.")
        elif self.known.is_set() and self.is_on and not is_on:
            logger.warning("The pause is over.")
        self.is_on, self._read_at_seconds = is_on, asked_seconds
        self.known.set()
