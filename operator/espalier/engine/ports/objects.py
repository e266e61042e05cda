"""
The port to the stored objects of one resource.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Protocol

from espalier.engine.ports.records import (
    Endpoint,
    MetadataPage,
    ObjectKey,
    ObjectPage,
    WatchEvent,
    WritePermit,
    Written,
)
from espalier.engine.ports.servers import ServersSeen
from espalier.engine.ports.shards import HashRange
from espalier.paths import JSON


class Objects(Protocol):
    """
    The stored objects of one resource.

    Lists leave ``resourceVersion`` unset, so that they are quorum reads. Each write takes a permit,
    and goes to a server only that shows, if it shows anything, that it stores objects at the
    endpoint's version.

    Raises:
        TransientError: Busy or away, after the adapter's own bounded retries of reads.
        ExpiredTokenError: 410 on a continue token or a watch.
        NotFoundError: The object, or the resource, is gone.
        ConflictError: 409 on a write.
        ForbiddenError: 401, or a 403 that is not admission's.
        UndecodableError: The server cannot read what is stored.
        RejectedError: Another 4xx, or admission denies it.
        ServerBehindError: No server that is reached stores objects at the endpoint's version.
    """

    async def list_metadata(
        self,
        resource: Endpoint,
        *,
        page_size: int,
        continue_token: str | None,
        namespace: str = "",
        shard: HashRange | None = None,
    ) -> MetadataPage:
        """
        List a page of PartialObjectMetadata, of one namespace or of all.

        Args:
            shard: Asks for no objects but those whose uid has its hash in this range. Few servers
                can choose them; the others send all objects.
        """

    async def list_objects(
        self,
        resource: Endpoint,
        *,
        page_size: int,
        continue_token: str | None,
        namespace: str = "",
    ) -> ObjectPage:
        """
        List a page of whole objects, of one namespace or of all.
        """

    async def list_namespaces(self) -> tuple[str, ...]:
        """
        Name all namespaces of the cluster.
        """

    def token_at(self, place: str) -> str:
        """
        Make a token by which a list goes on at a place, whether an object is there or not.

        Args:
            place: ``namespace/name``, or a name where one namespace or a resource without them is
                listed. Behind an object is its place with a zero character at the end.
        """

    def place_of(self, token: str) -> str | None:
        """
        Return the place at which a token goes on; None if its form is unknown.
        """

    async def get_object(self, resource: Endpoint, key: ObjectKey) -> dict[str, JSON]:
        """
        Read one object.
        """

    async def look_for_servers_behind(self, resource: Endpoint) -> ServersSeen:
        """
        Have each connection ask its server again, before a write, for the version that it stores.

        Returns:
            Which of them do not store objects at the endpoint's version.
        """

    async def rewrite(self, resource: Endpoint, permit: WritePermit) -> Written:
        """
        Have the server store an object anew by a merge patch that changes nothing.

        Returns:
            The resource version afterwards; the one given, if the bytes were right already.
            If not, also what the metadata are then.
        """

    async def try_rewrite(
        self, resource: Endpoint, key: ObjectKey, *, uid: str, resource_version: str
    ) -> dict[str, JSON]:
        """
        Do the same as a dry run; nothing is stored.

        Returns:
            The whole object as it would be after admission.
        """

    async def annotate(
        self, resource: Endpoint, permit: WritePermit, *, annotations: Mapping[str, str | None]
    ) -> str:
        """
        Set annotations of an object by a merge patch; remove those whose text is None.

        Returns:
            The resource version afterwards.
        """

    async def replace_managed_fields(
        self, resource: Endpoint, permit: WritePermit, *, managed_fields: Sequence[JSON]
    ) -> None:
        """
        Replace ``metadata.managedFields`` by a JSON Patch that tests uid and resource version.
        """

    async def replace(
        self,
        resource: Endpoint,
        obj: dict[str, JSON],
        permit: WritePermit,
        *,
        subresource: str | None,
    ) -> dict[str, JSON]:
        """
        PUT an object that carries uid and resourceVersion; ``subresource`` is None or ``status``.

        Returns:
            The object as stored.
        """

    def watch_objects(
        self, resource: Endpoint, *, resource_version: str
    ) -> AsyncIterator[WatchEvent]:
        """
        Watch from a resource version until the server closes the stream.

        Raises:
            ExpiredTokenError: The resource version is too old; list anew.
        """
