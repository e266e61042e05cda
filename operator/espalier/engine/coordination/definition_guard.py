"""
Watches the definition while a run works on it, and stops the run when its purpose changes.
"""

import asyncio
from collections.abc import Awaitable, Hashable
from typing import TypeVar

from espalier.crd import Definition
from espalier.engine.flowcontrol.calls import retry_while_unavailable
from espalier.engine.policy.labels import read_policy
from espalier.engine.policy.plan import is_migrated_by_others, run_key
from espalier.engine.policy.record import is_unseen_between
from espalier.engine.ports.clock import Clock
from espalier.engine.ports.definitions import Definitions
from espalier.errors import DefinitionChangedError, NotFoundError

T = TypeVar("T")

CHECK_SECONDS = 0.5
"""
Between two reads of the definition while objects are written. The documentation promises that a
run stops within a second after its label is removed.
"""


MAX_AGE_SECONDS = 5.0
"""No write is begun on knowledge of the definition that is older."""

IDLE_CHECK_SECONDS = 10.0
"""How often it is looked at while nothing is written: for years, of each legacy definition."""


def run_identity(definition: Definition) -> Hashable:
    """
    Identify what work on a definition is for; when it changes, the work stops and starts over.

    Beyond the run's key, it holds what decides whether a run may begin or go on at all.
    """
    policy = read_policy(definition)
    return (
        definition.uid,
        run_key(definition, policy),
        policy.mode,
        policy.accepted_loss,
        policy.mistakes,
        policy.window,
        policy.left_out,
        policy.keeps_managed_fields,
        definition.established,
        definition.deleting,
        is_migrated_by_others(definition),
    )


class DefinitionGuard:
    """
    Checks that a definition is still the one that a run was planned for.
    """

    def __init__(self, definitions: Definitions, clock: Clock, definition: Definition) -> None:
        self._definitions = definitions
        self._clock = clock
        self._definition = definition
        self._purpose = run_identity(definition)
        self._generation = definition.generation
        self._resource_version = definition.resource_version
        self._asked_seconds = self._confirmed_seconds = float("-inf")
        self._confirming = asyncio.Lock()

    @property
    def crd(self) -> str:
        """
        The definition's name.
        """
        return self._definition.name

    async def confirm(self) -> None:
        """
        Check that the definition is unchanged; read it, unless that was confirmed just before.

        Raises:
            DefinitionChangedError: As ``check``.
            ClusterError: It cannot be read; nothing must be written meanwhile.
        """
        if self.is_fresh:
            return
        async with self._confirming:
            # Of many that wait, the first one reads.
            if not self.is_fresh:
                await self.check()

    @property
    def is_fresh(self) -> bool:
        """
        Whether the definition was confirmed so recently that a write may begin.
        """
        age_seconds = self._clock.monotonic_seconds() - self._confirmed_seconds
        return age_seconds <= MAX_AGE_SECONDS

    async def check(self) -> Definition:
        """
        Read the definition anew.

        Raises:
            DefinitionChangedError: It was deleted or replaced, or asks for something else; or it
                may have done so since the last look.
            ClusterError: It cannot be read.
        """
        name = self._definition.name
        try:
            fresh = await retry_while_unavailable(
                lambda: self._asking(self._definitions.get_definition(name)), self._clock
            )
        except NotFoundError as error:
            if not error.is_object:
                raise
            raise DefinitionChangedError(name, "the definition is gone") from None
        if run_identity(fresh) != self._purpose:
            raise DefinitionChangedError(name, "the definition or its labels changed")
        if is_unseen_between(self._generation, fresh.generation):
            # Its schemas may have been others in between, and objects written under them hide
            # what these do not specify.
            raise DefinitionChangedError(name, "a generation of the definition was not seen")
        self._generation = fresh.generation
        self._resource_version = fresh.resource_version
        self._confirmed_seconds = self._asked_seconds
        return fresh

    async def watch(self, *, pause_seconds: float = CHECK_SECONDS) -> None:
        """
        Check the definition at intervals; end only by an error.

        Args:
            pause_seconds: Between two looks.

        Raises:
            DefinitionChangedError: As ``check``.
            TransientError: It cannot be read for long; what is not known must not be acted upon.
        """
        while True:
            await self._clock.sleep(pause_seconds)
            # A whole definition may have a megabyte; what has not changed is not read again.
            if await self._is_touched():
                await self.check()

    async def _is_touched(self) -> bool:
        name = self._definition.name
        try:
            found = await retry_while_unavailable(
                lambda: self._asking(self._definitions.get_resource_version(name)), self._clock
            )
        except NotFoundError:
            return True
        if found != self._resource_version:
            return True
        self._confirmed_seconds = self._asked_seconds
        return False

    async def _asking(self, call: Awaitable[T]) -> T:
        # Knowledge is as old as the question: an answer may have been on its way for long.
        self._asked_seconds = self._clock.monotonic_seconds()
        return await call
