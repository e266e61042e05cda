"""
What Espalier keeps in the operator's namespace, for those who delete it on purpose.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import msgspec

from espalier.cluster.transport.client import ApiRequest, Client
from espalier.cluster.transport.media_types import PARTIAL_LIST_TYPE
from espalier.cluster.transport.paths import segment
from espalier.errors import ConflictError, ExpiredTokenError, NotFoundError
from espalier.names import MANAGED_BY

_PAGE_SIZE = 500

# By kind: where it is served, and its plural.
_PATHS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "secret": ("/api/v1", "secrets"),
        "configmap": ("/api/v1", "configmaps"),
        "lease": ("/apis/coordination.k8s.io/v1", "leases"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptObject:
    """
    A Secret of the archive, a checkpoint or a Lease.

    Attributes:
        kind: ``secret``, ``configmap`` or ``lease``.
    """

    kind: str
    namespace: str
    plain_name: str
    uid: str

    what = "data"
    names: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """
        The namespace and the name.
        """
        return f"{self.namespace}/{self.plain_name}"


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    uid: str = ""
    # Named `continue` in JSON.
    continue_token: str = msgspec.field(default="", name="continue")


class _Item(msgspec.Struct):
    metadata: _Metadata


class _List(msgspec.Struct):
    metadata: _Metadata
    items: list[_Item] | None = None


_list = msgspec.json.Decoder(_List)


class KeptObjects:
    """
    List and delete the objects of one namespace that have Espalier's label.
    """

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace

    async def list_objects(self) -> AsyncIterator[KeptObject]:
        """
        Yield all of them, by their metadata alone.

        Raises:
            ClusterError: They could not be listed.
        """
        for kind in _PATHS:
            token, listed = "", set[str]()
            while True:
                try:
                    page = await self._client.fetch(self._list_call(kind, token), _list)
                except ExpiredTokenError as error:
                    if not token or error.fresh_token == token:
                        raise
                    # Without a fresh token it begins anew; nothing is yielded twice.
                    token = error.fresh_token or ""
                    continue
                for item in page.items or ():
                    if item.metadata.name in listed:
                        continue
                    listed.add(item.metadata.name)
                    yield KeptObject(
                        kind=kind,
                        namespace=self._namespace,
                        plain_name=item.metadata.name,
                        uid=item.metadata.uid,
                    )
                token = page.metadata.continue_token
                if not token:
                    break

    async def delete(self, kept: KeptObject) -> None:
        """
        Delete one; it is no error if it, or another one of its name, is gone already.

        Raises:
            ClusterError: It could not be deleted.
        """
        prefix, plural = _PATHS[kept.kind]
        call = ApiRequest(
            verb="delete",
            resource=f"{plural} {kept.name}",
            method="DELETE",
            path=f"{self._path(prefix, plural)}/{segment(kept.plain_name)}",
            body={
                "apiVersion": "v1",
                "kind": "DeleteOptions",
                "preconditions": {"uid": kept.uid},
            },
        )
        try:
            await self._client.send(call)
        except (NotFoundError, ConflictError):
            return

    def _list_call(self, kind: str, token: str) -> ApiRequest:
        prefix, plural = _PATHS[kind]
        selector = ",".join(f"{key}={value}" for key, value in MANAGED_BY.items())
        query = {"labelSelector": selector, "limit": str(_PAGE_SIZE)}
        return ApiRequest(
            verb="list",
            resource=f"{plural} in {self._namespace}",
            method="GET",
            path=self._path(prefix, plural),
            query=query | ({"continue": token} if token else {}),
            accept=PARTIAL_LIST_TYPE,
            is_read=True,
        )

    def _path(self, prefix: str, plural: str) -> str:
        return f"{prefix}/namespaces/{segment(self._namespace)}/{plural}"
