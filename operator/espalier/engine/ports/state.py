"""
The ports to what outlives the process: checkpoints and leases.
"""

from collections.abc import Mapping
from typing import Protocol

from espalier.crd import Definition
from espalier.paths import JSON


class Checkpoints(Protocol):
    """
    Durable JSON documents, one a CRD, that outlive the process.
    """

    async def load(self, definition: Definition) -> dict[str, JSON] | None:
        """
        Read the document of this CRD; None if there is none, or if it is of another uid.
        """

    async def save(self, definition: Definition, document: Mapping[str, JSON]) -> None:
        """
        Store the document; it is durable on return.
        """


class Leases(Protocol):
    """
    One run per CRD in the whole cluster.
    """

    async def acquire(self, definition: Definition) -> None:
        """
        Take or renew the lease of this CRD; call again well before ``duration_seconds`` end.

        Raises:
            LeaseLostError: Another holder has it.
        """

    async def release(self, definition: Definition) -> None:
        """
        Give the lease back; never raises for a lease that is gone.
        """

    @property
    def duration_seconds(self) -> float:
        """
        How long a lease lasts without renewal.
        """
