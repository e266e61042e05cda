"""
Post Kubernetes Events on a CustomResourceDefinition.
"""

import logging
import socket

from espalier.cluster.transport.client import ApiRequest, Client
from espalier.crd import Definition
from espalier.errors import ClusterError
from espalier.names import MANAGED_BY

logger = logging.getLogger(__name__)

# Events of cluster-scoped objects belong to this namespace.
_NAMESPACE = "default"
_MAX_MESSAGE_BYTES = 1024
_MAX_INSTANCE_CHARACTERS = 128
_MAX_NAME_CHARACTERS = 200


class HttpEvents:
    """
    Post Events. A failure is logged and never raised, since nothing depends on an Event.
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    async def post_event(
        self, definition: Definition, *, type_: str, reason: str, message: str
    ) -> None:
        """
        Post one Event on a definition.

        Args:
            type_: ``Normal`` or ``Warning``.
            reason: One word in CamelCase, for programs.
            message: A text for people, without values of objects; cut at 1024 bytes.
        """
        now = self._client.clock.utc_timestamp()
        call = ApiRequest(
            verb="create",
            resource="events",
            method="POST",
            path=f"/api/v1/namespaces/{_NAMESPACE}/events",
            body={
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {
                    "generateName": f"{definition.name[:_MAX_NAME_CHARACTERS].rstrip('.-')}.",
                    "namespace": _NAMESPACE,
                    "labels": {**MANAGED_BY},
                },
                "involvedObject": {
                    "apiVersion": "apiextensions.k8s.io/v1",
                    "kind": "CustomResourceDefinition",
                    "name": definition.name,
                    "uid": definition.uid,
                },
                "type": type_,
                "reason": reason,
                "message": message.encode()[:_MAX_MESSAGE_BYTES].decode(errors="ignore"),
                "count": 1,
                "firstTimestamp": now,
                "lastTimestamp": now,
                "source": {"component": "espalier"},
                "reportingComponent": "espalier",
                "reportingInstance": socket.gethostname()[:_MAX_INSTANCE_CHARACTERS],
            },
        )
        try:
            await self._client.send(call)
        except ClusterError as error:
            logger.warning(
                "An Event could not be posted.",
                extra={"crd": definition.name, "event": reason, "error": str(error)},
            )
