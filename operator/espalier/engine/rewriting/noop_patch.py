"""
The patch that changes nothing, by which the server stores an object anew.
"""

from espalier.engine.ports import Endpoint, ObjectKey
from espalier.engine.ports.objects import Objects
from espalier.engine.ports.records import Identity, identity_of
from espalier.engine.rewriting.retries import UNGUARDED, Failed, Rewritten, Unchanged, WriteResult
from espalier.errors import ClusterError, TransientError

MAX_GUARDED_ATTEMPTS = 5
"""After so many conflicts the resource version is left out; the uid stays."""


class Rewrite:
    """
    One object on its way: the patch that changes nothing.

    Args:
        seen: The state of it that was listed; None if it has to be read first.
    """

    def __init__(
        self, objects: Objects, resource: Endpoint, key: ObjectKey, seen: Identity | None
    ) -> None:
        self._objects = objects
        self._resource = resource
        self.key = key
        self._first = self._seen = seen or Identity("", "")
        self._conflicts = 0
        self._is_stale = seen is None
        self._may_be_written = False

    async def attempt(self) -> WriteResult:
        """
        Patch once, after reading anew if what was seen is old.
        """
        if self._is_stale:
            self._seen = identity_of(await self._objects.get_object(self._resource, self.key))
            self._is_stale = False
        if not self._seen.is_whole:
            return Failed(UNGUARDED)
        is_guarded = self._conflicts < MAX_GUARDED_ATTEMPTS
        after = await self._objects.rewrite(
            self._resource,
            self.key,
            uid=self._seen.uid,
            resource_version=self._seen.resource_version if is_guarded else None,
        )
        if after != self._seen.resource_version:
            return Rewritten()
        # An earlier patch that nobody answered may be the one that put it right.
        return Rewritten() if self._may_be_written and self._seen != self._first else Unchanged()

    def note(self, error: ClusterError, *, reads_again: bool) -> None:
        """
        Remember whether to read anew, and whether something may have been written already.
        """
        self._is_stale = self._is_stale or reads_again
        self._conflicts += reads_again
        self._may_be_written = self._may_be_written or isinstance(error, TransientError)
