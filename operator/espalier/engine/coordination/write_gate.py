"""
The one place that permits a write of a stored object.

Whatever writes one (a rewrite, an annotation, managedFields, a restore, a clean-up) makes the
server store it anew, pruned. So each asks here first, and the ports take no write without the
permit that is made here. It is given to an object of which it is known that nothing would be lost,
or whose loss was shown and consented to, and only on knowledge that is fresh.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import NamedTuple

from espalier.crd import Definition
from espalier.engine.coordination.definition_guard import DefinitionGuard
from espalier.engine.coordination.lease import LeaseHolder
from espalier.engine.policy.consent import NOTHING_SHOWN, ShownLoss
from espalier.engine.policy.evidence import NO_MANAGED_FIELDS, Evidence
from espalier.engine.policy.fingerprints import FingerprintSet, fingerprint_of
from espalier.engine.ports import StoredMetadata, WritePermit
from espalier.engine.ports.state import WriteFence

Compare = Callable[[StoredMetadata, tuple[str, ...]], Awaitable[frozenset[str]]]
"""
Reads an object at the given versions, and names what of it a rewrite would remove.

Raises:
    ConflictError: The object has changed since it was read.
    ClusterError: It cannot be read.
"""

CheckShown = Callable[[StoredMetadata], Awaitable[None]]
"""
Sees that the write of an object would not cost it its managedFields.

Raises:
    ConversionRefusedError: It would: the webhook does not convert the object.
    ClusterError: That cannot be found out.
"""


class LeftAlone(NamedTuple):
    """
    The object was not written, since something of it would or might be lost.

    Attributes:
        items: As ``espalier.engine.policy.evidence.Verdict`` has them.
    """

    items: frozenset[str]


async def compare_nothing(metadata: StoredMetadata, versions: tuple[str, ...]) -> frozenset[str]:
    """
    Stand in for a comparison where no evidence asks for one.
    """
    del metadata, versions
    return frozenset()


class WriteGate:
    """
    Permits the writes of one run; closed until it is opened.

    Args:
        guard: Sees that the definition is the one that the evidence is about.
        fence: Decides whether this process may write for the definition; None if nothing but the
            lease does.
    """

    def __init__(self, guard: DefinitionGuard, fence: WriteFence | None = None) -> None:
        self._guard = guard
        self._fence = fence
        self._is_closed = True
        self._evidence: Evidence | None = None
        self._consent = NOTHING_SHOWN
        self._compare: Compare = compare_nothing
        self._check_shown: CheckShown | None = None
        self._stripped, self._stripped_for_good = FingerprintSet(), FingerprintSet()
        self.under(None)

    def under(self, lease: LeaseHolder[Definition] | None) -> None:
        """
        Permit writes only while a lease is not in doubt; None where none is held.
        """
        self._lease = lease
        # One for all permits: each holds as long as the lease under which it was given.
        self._may_begin = partial(self._holds, lease)

    def open(
        self,
        evidence: Evidence | None,
        consent: ShownLoss = NOTHING_SHOWN,
        compare: Compare = compare_nothing,
        *,
        check_shown: CheckShown | None = None,
    ) -> None:
        """
        Open the gate with the evidence by which objects are judged.

        Args:
            evidence: None where the server prunes nothing.
            consent: The losses that were shown and consented to.
            check_shown: None where no webhook converts.
        """
        self._check_shown = check_shown
        self._evidence, self._consent, self._compare = evidence, consent, compare
        self._stripped.clear()
        self._stripped_for_good.clear()
        self._is_closed = False

    @property
    def spent(self) -> int:
        """
        How many consents were spent before, by which the digest of a loss is told from theirs.
        """
        return self._consent.spent

    def covers(self, items: frozenset[str]) -> bool:
        """
        Report whether a loss was consented to; it is if there is none.
        """
        return not items or self._consent.covers(items)

    def note_stripped(self, uid: str, resource_version: str, *, is_settled: bool) -> None:
        """
        Remember that a permitted write has cost an object its managedFields.

        API servers before 1.37 remove them from an object that shows a field which another version
        that wrote it does not specify. The object hides no more than before that write, which was
        judged when it still had them.

        Args:
            resource_version: The one that the write was answered with.
            is_settled: Whether it began after the settle time: then later writes, by whomever,
                have stored pruned bytes too.
        """
        if is_settled:
            self._stripped_for_good.add(fingerprint_of(uid))
        else:
            self._stripped.add(fingerprint_of(uid, resource_version))

    def doubt_settled(self) -> None:
        """
        Forget what rests on the settle time: a server may still go on with an older definition.
        """
        self._stripped_for_good.clear()

    async def permit(self, metadata: StoredMetadata) -> WritePermit | LeftAlone:
        """
        Permit the write of one object in the state that was read, or name what it would lose.

        Raises:
            ConflictError: The object has changed since it was read: read it, and ask again.
            DefinitionChangedError: The definition was deleted, replaced or changed.
            ConversionRefusedError: The write would remove the object's managedFields.
            LeaseLostError: This process is not responsible for the definition any more.
            ClusterError: The object or the definition cannot be read.
        """
        if self._is_closed:
            raise RuntimeError("the gate was not opened: nothing is known of what would be lost")
        items = await self.items(metadata)
        if not self.covers(items):
            return LeftAlone(items)
        if self._check_shown is not None:
            await self._check_shown(metadata)
        if not self._is_confirmed():
            await self._confirm()
        return WritePermit(metadata.key, metadata.uid, metadata.resource_version, self._may_begin)

    def _is_confirmed(self) -> bool:
        """
        Report whether all that a permit needs is known from just before, and holds.
        """
        if not self._guard.is_fresh or (self._lease is not None and self._lease.is_in_doubt):
            return False
        return self._fence is None or self._fence.is_confirmed(self._guard.crd)

    def _holds(self, lease: LeaseHolder[Definition] | None) -> bool:
        """
        Report whether a permit that was given under a lease holds in this moment.
        """
        if not self._guard.is_fresh or (lease is not None and lease.is_in_doubt):
            return False
        return self._fence is None or self._fence.may_begin(self._guard.crd)

    async def _confirm(self) -> None:
        """
        Wait until the lease is sure, the definition is confirmed and the fence, all at one moment.
        """
        while True:
            if self._lease is not None:
                await self._lease.until_sure()
            await self._guard.confirm()
            if self._fence is not None:
                await self._fence.confirm(self._guard.crd)
            # Each was waited for, and what was known before may be too old by now.
            if self._holds(self._lease):
                return

    def of_any_state(self, permit: WritePermit, metadata: StoredMetadata) -> WritePermit:
        """
        Permit the write of whatever an object is by then, if it can lose nothing in any state.
        """
        evidence = self._evidence
        loses_nothing = evidence is None or (evidence.is_harmless and evidence.covers(metadata))
        return permit._replace(resource_version=None) if loses_nothing else permit

    async def items(self, metadata: StoredMetadata) -> frozenset[str]:
        """
        Name what the write of an object would or might lose, consented to or not.

        Raises:
            ConflictError: The object has changed since it was read.
            ClusterError: It cannot be read.
        """
        if self._evidence is None:
            return frozenset()
        verdict = self._evidence.judge(metadata)
        items = verdict.items
        if NO_MANAGED_FIELDS in items and self._was_judged_with_them(metadata):
            items -= {NO_MANAGED_FIELDS}
        if not verdict.compare_at:
            return items
        return items | await self._compare(metadata, verdict.compare_at)

    def _was_judged_with_them(self, metadata: StoredMetadata) -> bool:
        # Whether a write of this run has cost an object the managedFields that it lacks.
        if not (self._stripped or self._stripped_for_good):
            return False
        return (
            fingerprint_of(metadata.uid, metadata.resource_version) in self._stripped
            or fingerprint_of(metadata.uid) in self._stripped_for_good
        )
