"""
Ask the API server which verbs this process may use.
"""

from collections.abc import Sequence

import msgspec

from espalier.cluster.transport.client import ApiRequest, Client
from espalier.engine.ports import Endpoint
from espalier.paths import JSON


class _ReviewStatus(msgspec.Struct):
    allowed: bool = False


class _Review(msgspec.Struct):
    status: _ReviewStatus


_review = msgspec.json.Decoder(_Review)


class HttpRights:
    """
    Implement ``espalier.engine.ports.definitions.Rights``.
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    async def missing_verbs(
        self, resource: Endpoint, verbs: Sequence[str], *, namespace: str = "", name: str = ""
    ) -> tuple[str, ...]:
        """
        Return the verbs that are not allowed, in one namespace or in all, on one object or on all.
        """
        return tuple(
            [verb for verb in verbs if not await self._is_allowed(resource, verb, namespace, name)]
        )

    async def _is_allowed(self, resource: Endpoint, verb: str, namespace: str, name: str) -> bool:
        plain_verb, _, subresource = verb.partition("/")
        attributes: dict[str, JSON] = {
            "group": resource.group,
            "version": resource.version,
            "resource": resource.plural,
            "verb": plain_verb,
        }
        if namespace:
            attributes["namespace"] = namespace
        if name:
            attributes["name"] = name
        if subresource:
            attributes["subresource"] = subresource
        call = ApiRequest(
            verb="create",
            resource="selfsubjectaccessreviews.authorization.k8s.io",
            method="POST",
            path="/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            body={
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SelfSubjectAccessReview",
                "spec": {"resourceAttributes": attributes},
            },
            # A review is a query in the form of an object: nothing is stored.
            is_read=True,
        )
        return (await self._client.fetch(call, _review)).status.allowed
