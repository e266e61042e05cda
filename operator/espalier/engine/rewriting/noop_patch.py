"""
The patch that changes nothing, by which the server stores an object anew.
"""

from dataclasses import replace

from espalier.engine.conversion.stored_version import StoredVersionWitness
from espalier.engine.coordination.run_context import RunContext
from espalier.engine.coordination.write_gate import LeftAlone
from espalier.engine.flowcontrol.pacer import may_have_written
from espalier.engine.policy.plan import Plan
from espalier.engine.ports import ObjectKey, StoredMetadata
from espalier.engine.ports.records import metadata_of
from espalier.engine.rewriting.retries import UNGUARDED, Failed, Rewritten, Unchanged, WriteResult
from espalier.engine.rewriting.settled_writes import SettledWrites
from espalier.errors import ClusterError, ConversionError

MAX_GUARDED_ATTEMPTS = 5
"""
After so many conflicts the resource version is left out, if no object can lose anything; the uid
stays.
"""


class Rewrite:
    """
    One object on its way: the patch that changes nothing.

    Args:
        seen: The state of it that was listed.
        settled: Remembers the answer, if it is a proof.
        witness: Looks at the object before it is written, if it is asked.
    """

    def __init__(
        self,
        context: RunContext[Plan],
        seen: StoredMetadata,
        settled: SettledWrites,
        witness: StoredVersionWitness,
    ) -> None:
        self._objects = context.ports.objects
        self._resource = context.planned.resource
        self._gate = context.gate
        self._probe = context.probe
        self._answers = context.answers
        self._first = self._seen = seen
        self._settled = settled
        self._witness = witness
        self._is_shown = witness.is_asked
        self._conflicts = 0
        self._is_stale = False
        self._may_be_written = False
        self._version_after = ""

    @property
    def stored(self) -> StoredMetadata | None:
        """
        The state that the listed one was rewritten to; None if another one was rewritten.
        """
        if not self._version_after:
            return None
        return replace(self._first, resource_version=self._version_after)

    @property
    def key(self) -> ObjectKey:
        """
        Which object.
        """
        return self._first.key

    @property
    def has_changed(self) -> bool:
        """
        Whether the object was read in another state than it was listed in.
        """
        return self._seen.resource_version != self._first.resource_version

    async def attempt(self) -> WriteResult:
        """
        Patch once, after reading anew if what was seen is old.

        Raises:
            RunStoppedError: Admission has changed the object.
        """
        try:
            return await self._attempt()
        except ConversionError as error:
            raise await self._probe.check_alone(error, self.key) from error

    async def _attempt(self) -> WriteResult:
        if self._is_stale or self._witness.is_asked:
            obj = await self._objects.get_object(self._resource, self.key)
            self._seen = replace(metadata_of(obj), key=self.key)
            self._is_stale = False
            # Of several states that this run has met, none may be at another version.
            self._is_shown = self._is_shown and self._witness.shows_storage_version(obj)
        if not (self._seen.uid and self._seen.resource_version):
            return Failed(UNGUARDED)
        permit = await self._gate.permit(self._seen)
        if isinstance(permit, LeftAlone):
            return permit
        if self._conflicts >= MAX_GUARDED_ATTEMPTS:
            permit = self._gate.of_any_state(permit, self._seen)
        is_proof = self._settled.is_proof()
        written = await self._objects.rewrite(self._resource, permit)
        after = written.resource_version
        if written.metadata is not None and permit.resource_version is not None:
            self._answers.check(self._seen, written.metadata)
            if self._seen.managed_fields and not written.metadata.managed_fields:
                self._gate.note_stripped(self._seen.uid, after, is_settled=is_proof)
        if is_proof:
            self._settled.add(self._seen.uid, after)
        if self._seen is self._first:
            self._version_after = after
        if after != self._seen.resource_version:
            return Rewritten(
                was_at_storage_version=self._is_shown and permit.resource_version is not None,
                # Only a pass in which it is asked can end without a proof, which names them.
                writers=self._witness.writers(self._seen.managed_fields)
                if self._witness.is_asked
                else (),
            )
        # An earlier patch without an answer may be the one that rewrote it.
        return Rewritten() if self._may_be_written and self.has_changed else Unchanged()

    def note(self, error: ClusterError, *, reads_again: bool) -> None:
        """
        Remember whether to read anew, and whether something may have been written already.
        """
        self._is_stale = self._is_stale or reads_again
        self._conflicts += reads_again
        self._may_be_written = self._may_be_written or may_have_written(error)
