"""
The ports to what outlives the process: checkpoints and leases.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

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


@dataclass(frozen=True, slots=True)
class Bucket:
    """
    Some of all definitions, by their names: what one replica of the operator is responsible for.
    """

    number: int
    count: int

    @property
    def name(self) -> str:
        """
        The name of its Lease.
        """
        return f"espalier-bucket-{self.number}-of-{self.count}"


class LeaseSubject(Protocol):
    """
    What a lease can be of.
    """

    @property
    def name(self) -> str:
        """
        The name, for messages.
        """


SubjectT_contra = TypeVar("SubjectT_contra", bound=LeaseSubject, contravariant=True)


class LeasesOf(Protocol[SubjectT_contra]):
    """
    Leases, each held by one process at a time in the whole cluster.
    """

    async def acquire(self, subject: SubjectT_contra, /) -> None:
        """
        Take or renew the lease of a subject; call again well before ``duration_seconds`` end.

        Raises:
            LeaseLostError: Another holder has it.
        """

    async def release(self, subject: SubjectT_contra, /) -> None:
        """
        Give the lease back; never raises for a lease that is gone.
        """

    @property
    def duration_seconds(self) -> float:
        """
        How long a lease lasts without renewal.
        """


class Leases(LeasesOf[Definition], Protocol):
    """
    One run per CRD in the whole cluster.
    """


class BucketLeases(LeasesOf[Bucket], Protocol):
    """
    One replica per bucket.
    """


class Replicas(Protocol):
    """
    The replicas of the operator that are alive.
    """

    async def beat(self) -> int:
        """
        Show that this one is alive, and count all of them; call several times in a lease's time.

        Raises:
            ClusterError: It could not be shown.
        """

    async def leave(self) -> None:
        """
        Count this one no longer; a failure is only logged, since it is forgotten anyhow.
        """


class PauseSwitch(Protocol):
    """
    What a person sets to have an operator write nothing.
    """

    async def is_set(self) -> bool:
        """
        Report whether it is set.

        Raises:
            ClusterError: It cannot be read.
        """


class WriteFence(Protocol):
    """
    Decides whether this process may write anything for a definition now.
    """

    async def confirm(self, crd: str) -> None:
        """
        Wait until a write may begin.

        Args:
            crd: The definition's name.

        Raises:
            LeaseLostError: This process must write nothing for it.
            ClusterError: Whether it may cannot be found out.
        """

    def is_confirmed(self, crd: str) -> bool:
        """
        Report at once whether a write may begin, by what is known already; if not, ``confirm`` it.
        """

    def may_begin(self, crd: str) -> bool:
        """
        Report at once whether a write may begin; asked right before it is sent.
        """


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
