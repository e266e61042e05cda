"""
The ConfigMaps with fixed names in an operator's namespace: the switch that pauses it, its report.
"""

from collections.abc import Callable, Collection, Mapping

import msgspec

from espalier import names
from espalier.cluster.transport.client import ApiRequest, Client
from espalier.cluster.transport.media_types import PARTIAL_TYPE
from espalier.cluster.transport.paths import segment
from espalier.errors import NotFoundError, RejectedError
from espalier.paths import JSON

PAUSE = "espalier-pause"
"""The ConfigMap that pauses an operator, whatever is in it."""

REPORT = "espalier-report"
"""The ConfigMap in which an operator keeps its report."""

_CALL_SECONDS = 4.0
# The server accepts 1 MiB in a ConfigMap; managedFields and JSON's escapes come on top.
_MAX_ANSWER_BYTES = 4 * 1024 * 1024


class _KeptMetadata(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    labels: dict[str, str] | None = None


class _KeptConfigMap(msgspec.Struct):
    metadata: _KeptMetadata
    data: dict[str, str] | None = None


_config_map = msgspec.json.Decoder(_KeptConfigMap)


class ConfigMapSwitch:
    """
    Implement ``espalier.engine.ports.state.PauseSwitch``.
    """

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace

    async def is_set(self) -> bool:
        """
        Report whether the ConfigMap exists.

        Raises:
            ClusterError: It cannot be read.
        """
        # Sent once: who waits for the answer tries again.
        call = _call(self._namespace, PAUSE, "get", "GET")._replace(
            total_seconds=_CALL_SECONDS,
            # Whatever is in it does not matter.
            accept=PARTIAL_TYPE,
        )
        try:
            await self._client.send(call)
        except NotFoundError:
            return False
        return True


class ReportConfigMap:
    """
    Read and write the report, which has a key for each bucket of definitions.
    """

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace

    async def read(self) -> Mapping[str, str]:
        """
        Return the data, of any content: whoever may write ConfigMaps there may have written it.

        Raises:
            NotFoundError: There is no report.
            ClusterError: It cannot be read.
        """
        return (await self._found()).data or {}

    async def write(
        self,
        parts: Mapping[str, str],
        *,
        kept: Collection[str],
        may_begin: Callable[[], bool],
    ) -> None:
        """
        Replace parts of the report.

        Args:
            parts: The new values by their keys.
            kept: The other keys whose values are kept; those under any other key are removed.
            may_begin: Asked right before the write is sent.

        Raises:
            ConflictError: Another process has written it meanwhile; the call may be made again.
            RejectedError: It is not Espalier's, or the API server refuses it.
            ClusterError: It cannot be read or written.
        """
        try:
            found = await self._found()
        except NotFoundError:
            await self._create(parts, may_begin)
            return
        if names.MANAGED_BY.items() - (found.metadata.labels or {}).items():
            raise RejectedError(
                verb="update",
                resource=f"configmaps {self._namespace}/{REPORT}",
                reason="NotOurs",
                detail="it does not have Espalier's label; delete it, or go without the report",
            )
        data = {key: text for key, text in (found.data or {}).items() if key in kept}
        data |= parts
        if data == found.data:
            return
        call = _call(self._namespace, REPORT, "update", "PUT")
        body = self._body(data, found.metadata.resource_version)
        await self._write(call._replace(body=body), may_begin)

    async def _found(self) -> _KeptConfigMap:
        call = _call(self._namespace, REPORT, "get", "GET")
        call = call._replace(is_read=True, max_answer_bytes=_MAX_ANSWER_BYTES)
        return await self._client.fetch(call, _config_map)

    async def _create(self, parts: Mapping[str, str], may_begin: Callable[[], bool]) -> None:
        call = _call(self._namespace, REPORT, "create", "POST")
        call = call._replace(path=call.path.rpartition("/")[0], body=self._body(parts, ""))
        await self._write(call, may_begin)

    async def _write(self, call: ApiRequest, may_begin: Callable[[], bool]) -> None:
        query = {"fieldManager": names.FIELD_MANAGER}
        await self._client.send(call._replace(query=query, may_begin=may_begin))

    def _body(self, data: Mapping[str, str], version: str) -> dict[str, JSON]:
        metadata: dict[str, JSON] = {
            "name": REPORT,
            "namespace": self._namespace,
            "labels": {**names.MANAGED_BY, names.COMPONENT: "report"},
        }
        if version:
            metadata["resourceVersion"] = version
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(data)}


def _call(namespace: str, name: str, verb: str, method: str) -> ApiRequest:
    return ApiRequest(
        verb=verb,
        resource=f"configmaps {namespace}/{name}",
        method=method,
        path=f"/api/v1/namespaces/{segment(namespace)}/configmaps/{name}",
    )
