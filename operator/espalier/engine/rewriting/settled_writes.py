"""
The writes that are proofs by themselves: begun after the settle time, and answered.

The server that answered such a patch has written the object in its normal form at the storage
version, or has found it so. While the object still has the resource version of that answer, it is
stored so. A later list of metadata shows that, without a second patch. A sample is patched all the
same: if one of these is rewritten, the answers were no proofs, and none of them is used.

A restart loses all of this, and no proof: the verify pass patches each object then.
"""

import secrets
from collections.abc import Callable

from espalier.engine.policy.fingerprints import FingerprintSet, fingerprint_of
from espalier.engine.ports import StoredMetadata

SAMPLE_SHARE = 0.01


class SettledWrites:
    """
    Remembers the objects that a run has written after the settle time.

    Args:
        now_seconds: A monotonic clock.
        sample_least: Of so many remembered objects each is patched again; of more, at least these.
        on_doubt: Is called whenever all is forgotten, so that nothing else rests on it.
    """

    def __init__(
        self,
        now_seconds: Callable[[], float],
        *,
        sample_least: int,
        on_doubt: Callable[[], None] = lambda: None,
    ) -> None:
        self._now_seconds = now_seconds
        self._on_doubt = on_doubt
        self._sample_least = sample_least
        self._fingerprints = FingerprintSet()
        self._from_seconds = float("inf")
        self._is_refuted = False

    def __len__(self) -> int:
        return len(self._fingerprints)

    def restart(self, from_seconds: float) -> None:
        """
        Forget all, and remember what is written from a time on.
        """
        self._forget()
        self._from_seconds = from_seconds

    def refute(self) -> None:
        """
        Forget all, and remember nothing more.

        An object was stored in another way than its answer had shown.
        """
        self._forget()
        self._is_refuted = True

    def _forget(self) -> None:
        self._fingerprints.clear()
        self._on_doubt()

    def is_proof(self) -> bool:
        """
        Report whether a patch that begins now is a proof, once it is answered.
        """
        return not self._is_refuted and self._now_seconds() >= self._from_seconds

    def add(self, uid: str, resource_version: str) -> None:
        """
        Remember the answer to a patch of which ``is_proof`` was true when it began.
        """
        if not self._is_refuted:
            self._fingerprints.add(fingerprint_of(uid, resource_version))

    def proves(self, metadata: StoredMetadata) -> bool:
        """
        Report whether an object is stored as such an answer has shown it.
        """
        if not self._fingerprints:
            return False
        return fingerprint_of(metadata.uid, metadata.resource_version) in self._fingerprints

    def sample(self) -> "Sample":
        """
        Choose which of the objects that are remembered now are patched again in one pass.
        """
        wanted = max(self._sample_least, round(SAMPLE_SHARE * len(self)))
        return Sample(total=len(self), wanted=wanted)


class Sample:
    """
    Draws some of a number of objects that come one after another, each with the same chance.

    Args:
        total: How many there are, or were.
        wanted: How many to draw; all of them if there are no more.

    Source:
        D. Knuth, The Art of Computer Programming, volume 2, section 3.4.2, algorithm S.
    """

    def __init__(self, *, total: int, wanted: int) -> None:
        self._left = total
        self._wanted = wanted

    def draws(self) -> bool:
        """
        Report whether the next object is drawn.
        """
        is_drawn = self._wanted >= self._left or secrets.randbelow(self._left) < self._wanted
        self._left -= 1
        self._wanted -= is_drawn
        return is_drawn
