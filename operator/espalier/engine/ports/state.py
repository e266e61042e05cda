"""
The ports to what outlives the process: checkpoints and leases.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from espalier.crd import Definition
from espalier.errors import EspalierError
from espalier.paths import JSON


class Checkpoints(Protocol):
    """
    Durable JSON documents, one a CRD, that outlive the process.
    """

    def home_of(self, definition: Definition) -> tuple[str, str]:
        """
        Name the namespace and the ConfigMap in which the document of this CRD is kept.
        """

    async def load(self, definition: Definition) -> dict[str, JSON] | None:
        """
        Read the document of this CRD; None if there is none, or if it is of another uid.
        """

    async def forget(self, definition: Definition) -> None:
        """
        Delete the document of this CRD; one that is not there is not an error.
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


@dataclass(unsafe_hash=True)
class RecordUnreadableError(EspalierError):
    """
    The record of a definition is gone, cannot be read, or is not the one that was written last.

    Attributes:
        detail: What was found.
    """

    crd: str
    detail: str

    def __str__(self) -> str:
        return (
            f"{self.detail}. Nothing is written without the record of what the schemas of"
            f" {self.crd} have specified: bring it back from a backup, or, if it is gone for good,"
            f" give it up with: espalier cleanup --record {self.crd}. The next run then leaves"
            " alone, and names, every object of which it cannot prove that nothing would be lost"
        )


@dataclass(unsafe_hash=True)
class OtherOperatorError(EspalierError):
    """
    The record of a definition is kept by another operator.

    Attributes:
        home: The ConfigMap that holds the record.
        own: The one that this process would keep it in.
    """

    crd: str
    home: str
    own: str

    def __str__(self) -> str:
        namespace = self.home.partition("/")[0]
        return (
            f"the record of {self.crd} is kept in the ConfigMap {self.home}, and not in {self.own}:"
            " another operator looks after this definition. Nothing is written. Work in its"
            f" namespace (--operator-namespace {namespace}), or, if it is gone for good, give its"
            f" record up with: espalier cleanup --record {self.crd}"
        )
