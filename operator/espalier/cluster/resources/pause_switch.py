"""
The switch that pauses an operator: a ConfigMap in its namespace, whatever is in it.
"""

from espalier.cluster.transport.client import ApiRequest, Client
from espalier.cluster.transport.paths import segment
from espalier.errors import NotFoundError

NAME = "espalier-pause"
"""Of the ConfigMap."""

_CALL_SECONDS = 4.0


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
        place = f"/api/v1/namespaces/{segment(self._namespace)}/configmaps"
        # Sent once: who waits for the answer tries again.
        call = ApiRequest(
            verb="get",
            resource=f"configmaps {self._namespace}/{NAME}",
            method="GET",
            path=f"{place}/{NAME}",
            total_seconds=_CALL_SECONDS,
        )
        try:
            await self._client.send(call)
        except NotFoundError:
            return False
        return True
