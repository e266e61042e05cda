"""
The adapter for the Kubernetes API server; the only package that speaks HTTP.

``connect`` yields a ``Cluster``. Its attributes and methods return implementations of the ports in
``espalier.engine.ports``.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from ssl import SSLContext

import aiohttp

from espalier.cluster.archives.folders import FolderArchive
from espalier.cluster.archives.kept_objects import KeptObject, KeptObjects
from espalier.cluster.archives.secrets import MAX_TOTAL_BYTES, SecretArchive
from espalier.cluster.auth.connection import Connection, is_in_cluster, read_service_account
from espalier.cluster.auth.impersonation import ONESELF, Impersonation
from espalier.cluster.clock import SystemClock
from espalier.cluster.resources.access_reviews import HttpRights
from espalier.cluster.resources.checkpoints import ConfigMapCheckpoints
from espalier.cluster.resources.config_maps import ConfigMapSwitch, ReportConfigMap
from espalier.cluster.resources.definitions import HttpDefinitions, MalformedDefinition
from espalier.cluster.resources.events import HttpEvents
from espalier.cluster.resources.foreign_leases import ForeignAwareLeases, Homes
from espalier.cluster.resources.leases import (
    HttpBucketLeases,
    HttpLeases,
    HttpPartLeases,
    identity_of_parts,
)
from espalier.cluster.resources.named_leases import DURATION_SECONDS, own_identity
from espalier.cluster.resources.objects import HttpObjects
from espalier.cluster.resources.replicas import HttpReplicas
from espalier.cluster.resources.storage_versions import is_caught_up
from espalier.cluster.transport.client import Client
from espalier.cluster.transport.lanes import Lanes
from espalier.cluster.transport.session import (
    MAX_CONTROL_CONNECTIONS,
    metadata_only,
    open_session,
)
from espalier.engine.ports import Leases, Part
from espalier.engine.ports.clock import Clock

__all__ = [
    "Cluster",
    "Connection",
    "FolderArchive",
    "Impersonation",
    "KeptObject",
    "MalformedDefinition",
    "SystemClock",
    "connect",
    "connect_to",
    "list_contexts",
    "own_identity",
]


@dataclass(frozen=True, slots=True)
class Cluster:
    """
    A connection to one API server; usable inside the ``connect`` block.

    Attributes:
        client: For reads of objects, and for archives.
        control: For definitions, rights, events and checkpoints: on connections of their own, so
            that they do not wait behind objects.
        leasing: For leases, likewise.
        lanes: For writes of objects.
    """

    connection: Connection
    clock: Clock
    client: Client
    control: Client
    leasing: Client
    lanes: Lanes
    objects: HttpObjects
    definitions: HttpDefinitions
    rights: HttpRights
    events: HttpEvents

    @property
    def server(self) -> str:
        """
        The base URL of the API server.
        """
        return self.connection.server

    @property
    def tls(self) -> SSLContext | None:
        """
        The TLS settings of the connection; None for plain HTTP.
        """
        return self.connection.tls

    def definitions_while(self, may_begin: Callable[[str], bool]) -> HttpDefinitions:
        """
        Return the definitions, whose status is written only while a check holds.

        Args:
            may_begin: Asked, with a definition's name, right before a write is sent.
        """
        return HttpDefinitions(self.control, may_begin=may_begin)

    def checkpoints(
        self,
        namespace: str,
        *,
        may_begin: Callable[[str], bool] | None = None,
        part: int | None = None,
    ) -> ConfigMapCheckpoints:
        """
        Return the store of checkpoints in a namespace.

        Args:
            may_begin: As for ``definitions_while``.
            part: The number of the part whose checkpoints these are; None for whole definitions.
        """
        return ConfigMapCheckpoints(self.control, namespace, may_begin=may_begin, part=part)

    def kept_objects(self, namespace: str) -> KeptObjects:
        """
        Return what Espalier keeps in a namespace, to be deleted on purpose.
        """
        return KeptObjects(self.control, namespace)

    def archive(self, namespace: str, *, max_total_bytes: int = MAX_TOTAL_BYTES) -> SecretArchive:
        """
        Return the archive of removed data in a namespace.

        All runs that write must share one archive object, so that the size limit holds.

        Args:
            max_total_bytes: The limit for all archives in the namespace together.
        """
        return SecretArchive(self.client, namespace, max_total_bytes=max_total_bytes)

    def leases(
        self,
        namespace: str,
        identity: str | None = None,
        *,
        duration_seconds: int = DURATION_SECONDS,
        overtaken: Collection[str] = frozenset(),
    ) -> HttpLeases:
        """
        Return the leases in a namespace.

        Args:
            identity: The name of the holder; None makes one for this process.
            duration_seconds: How long a lease lasts without renewal.
            overtaken: Holders whose leases count as free; see ``bucket_leases``.
        """
        return HttpLeases(
            self.leasing,
            namespace,
            identity or own_identity(),
            duration_seconds=duration_seconds,
            overtaken=overtaken,
        )

    def bucket_leases(
        self, namespace: str, identity: str, *, duration_seconds: int = DURATION_SECONDS
    ) -> HttpBucketLeases:
        """
        Return the leases of buckets of definitions; see ``leases``.
        """
        return HttpBucketLeases(
            self.leasing, namespace, identity, duration_seconds=duration_seconds
        )

    def pause_switch(self, namespace: str) -> ConfigMapSwitch:
        """
        Return what pauses the operator in a namespace.
        """
        return ConfigMapSwitch(self.control, namespace)

    def report(self, namespace: str) -> ReportConfigMap:
        """
        Return the report that the operator keeps in a namespace.
        """
        return ReportConfigMap(self.control, namespace)

    def replicas(
        self, namespace: str, identity: str, *, duration_seconds: int = DURATION_SECONDS
    ) -> HttpReplicas:
        """
        Return the count of the operator's replicas in a namespace.
        """
        return HttpReplicas(self.leasing, namespace, identity, duration_seconds=duration_seconds)

    def leases_among(
        self,
        namespace: str,
        *,
        homes: Homes,
        part: Part | None = None,
        after_parts: int | None = None,
    ) -> ForeignAwareLeases:
        """
        Return leases that also respect an operator's lease of the same definition elsewhere.

        Args:
            homes: Returns the namespaces in which operators of a definition are known to run.
            part: What is worked on; None for whole definitions.
            after_parts: The number of parts that are all done, so that their lease counts as free.
        """
        overtaken = () if after_parts is None else (identity_of_parts(after_parts),)
        leases: Leases = self.leases(namespace, overtaken=overtaken)
        if part is not None:
            leases = HttpPartLeases(self.leasing, namespace, own_identity(), part)
        return ForeignAwareLeases(self.leasing, namespace, leases, homes=homes)

    def open_session(self, *, user_agent: str) -> aiohttp.ClientSession:
        """
        Open another session to the same server as the same user; the caller closes it.

        Kopf needs a session of its own for each login. What it lists and watches comes as metadata:
        a definition may have a megabyte, and its event only says that it is to be read anew.

        Args:
            user_agent: The whole header, such as ``kopf/1.45``.
        """
        # Kopf opens any number of streams; the sessions that it makes itself have no limit either.
        return open_session(
            self.connection,
            user_agent=user_agent,
            max_connections=0,
            middlewares=(metadata_only,),
        )


@asynccontextmanager
async def connect(  # noqa: PLR0913 - each has a default
    kubeconfig: str | Path | None = None,
    *,
    context: str | None = None,
    in_cluster: bool | None = None,
    clock: Clock | None = None,
    dry_run: bool = False,
    impersonation: Impersonation = ONESELF,
    request_seconds: float | None = None,
) -> AsyncIterator[Cluster]:
    """
    Connect to the API server that a kubeconfig or the pod's service account names.

    Nothing is sent yet, but a credential is obtained, so that a bad credential is reported here.

    Args:
        kubeconfig: A file, or several as in ``KUBECONFIG``. If None: those of ``KUBECONFIG``, else
            the pod's service account, else ``~/.kube/config``.
        context: The context of the kubeconfig; None means the current one.
        in_cluster: True requires the service account, False ignores it, None uses it if present.
        dry_run: Whether the server only tries each write, and keeps none.
        impersonation: The user to act as, in place of the one that the kubeconfig names.
        request_seconds: The time limit of each request that is not a watch; None for the default.

    Raises:
        ConfigurationError: There is no usable kubeconfig or credential.
    """
    clock = clock or SystemClock()
    paths = str(kubeconfig) if kubeconfig is not None else os.environ.get("KUBECONFIG", "")
    if in_cluster is None:
        in_cluster = not paths and context is None and is_in_cluster(os.environ)
    if in_cluster:
        connection = await asyncio.to_thread(read_service_account, os.environ, clock)
    else:
        # It loads the client "kubernetes", which takes 18 MiB that a pod does without.
        from espalier.cluster.auth.kubeconfig import read_kubeconfig  # noqa: PLC0415

        connection = await asyncio.to_thread(
            read_kubeconfig, paths or "~/.kube/config", clock, context=context
        )
    connection = replace(
        connection,
        impersonation=connection.impersonation.overridden_by(impersonation),
        request_seconds=request_seconds,
    )
    async with connect_to(connection, clock, dry_run=dry_run) as cluster:
        yield cluster


def list_contexts(kubeconfig: str | Path | None = None) -> tuple[str, ...]:
    """
    Return the names of the contexts of a kubeconfig, in its order.

    Args:
        kubeconfig: As for ``connect``, without the service account.

    Raises:
        ConfigurationError: It cannot be read.
    """
    from espalier.cluster.auth import kubeconfig as files  # noqa: PLC0415 - as above

    given = str(kubeconfig) if kubeconfig is not None else os.environ.get("KUBECONFIG", "")
    return files.list_contexts(given or "~/.kube/config")


@asynccontextmanager
async def connect_to(
    connection: Connection, clock: Clock, *, dry_run: bool = False
) -> AsyncIterator[Cluster]:
    """
    Connect to an API server through a given connection.

    Args:
        dry_run: As for ``connect``.

    Raises:
        ConfigurationError: There is no usable credential, or no such user can be acted as.
    """
    connection.impersonation.headers()
    await connection.credentials.header()
    async with (
        open_session(connection) as session,
        open_session(connection, max_connections=0) as watches,
        open_session(connection, max_connections=MAX_CONTROL_CONNECTIONS) as controlling,
        open_session(connection, max_connections=MAX_CONTROL_CONNECTIONS) as leasing,
        aclosing(Lanes(connection, clock, is_caught_up, dry_run=dry_run)) as lanes,
    ):
        client = Client(session, connection, clock, dry_run=dry_run)
        control = Client(controlling, connection, clock, dry_run=dry_run)
        yield Cluster(
            connection=connection,
            clock=clock,
            client=client,
            control=control,
            leasing=Client(leasing, connection, clock, dry_run=dry_run),
            lanes=lanes,
            objects=HttpObjects(client, Client(watches, connection, clock), lanes),
            definitions=HttpDefinitions(control),
            rights=HttpRights(control),
            events=HttpEvents(control),
        )
