"""
The definition that is migrated in a soak: once its list is trimmed, its versions change places.
"""

import http.client
from collections.abc import Callable

from tests.e2e.chaos.demanding import insist
from tests.e2e.chaos.repeating import Repeating
from tests.e2e.controlplane.api import ApiError
from tests.e2e.crds import Crd, Document, schema, version
from tests.e2e.replicas import holder_of

NAMES = ("v1alpha1", "v1")
LOOK_SECONDS = 0.3
VALUE: Document = {
    "value": {"type": "integer"},
    "note": {"type": "string"},
    "color": {"type": "string", "default": "red"},
}


class Keeper(Repeating):
    """
    Looks at the definition and at the Lease all the time, and begins one era after another.

    Args:
        lease: Of the bucket.
        tell: Prints a line.

    Attributes:
        era: The number of the era; each has another storage version, and one more default.
        holder: The identity that was seen in the Lease last.
    """

    def __init__(self, crd: Crd, lease: str, tell: Callable[[str], None]) -> None:
        super().__init__(pause_seconds=LOOK_SECONDS)
        self._crd = crd
        self._lease = lease
        self._tell = tell
        self.era = 0
        self.holder = ""

    @property
    def storage(self) -> str:
        """
        The storage version of this era.
        """
        return NAMES[self.era % 2]

    def versions(self) -> list[Document]:
        """
        Return the versions of this era.
        """
        # Each era adds a field that is filled in, so that all objects change.
        more = {f"f{n}": {"type": "integer", "default": n} for n in range(self.era)}
        return [version(name, schema(VALUE | more)) for name in NAMES]

    def begin_era(self) -> None:
        """
        Let the versions change places.
        """
        self.era += 1
        versions, storage = self.versions(), self.storage
        insist(lambda: self._crd.set_versions(versions, storage=storage))
        self._tell(f"era {self.era}: {storage} is the storage version")

    def _step(self) -> None:
        try:
            self.holder = holder_of(self._crd.plane, self._lease)
            stored = self._crd.stored_versions()
        except (ApiError, OSError, http.client.HTTPException):
            return
        if stored == [self.storage]:
            self.begin_era()
