"""
Ask the API server which verbs this process may use.
"""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from espalier.cluster.transport.client import ApiRequest, Client
from espalier.engine.ports import Endpoint
from espalier.errors import ForbiddenError, NotFoundError, RejectedError
from espalier.paths import JSON

_GROUP = "authorization.k8s.io"

NO_NAMESPACE = "-"
"""
No namespace can have this name, so none has a RoleBinding in it: what is allowed there is allowed
everywhere. A review of rules must name a namespace.
"""

MAX_AGE_SECONDS = 10.0
"""How long rules are used; many definitions are surveyed at about the same time."""


class _ReviewStatus(msgspec.Struct):
    allowed: bool = False


class _Review(msgspec.Struct):
    status: _ReviewStatus


_review = msgspec.json.Decoder(_Review)


class _Rule(msgspec.Struct, rename="camel"):
    verbs: tuple[str, ...] = ()
    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()

    def allows(self, resource: Endpoint, verb: str, name: str) -> bool:
        """
        Report whether it allows a verb, which may name a subresource.

        Source:
            kubernetes, ``pkg/apis/rbac/v1/evaluation_helpers.go``.
        """
        plain_verb, _, subresource = verb.partition("/")
        wanted = {"*", f"{resource.plural}/{subresource}" if subresource else resource.plural}
        if subresource:
            wanted.add(f"*/{subresource}")
        return (
            not {"*", plain_verb}.isdisjoint(self.verbs)
            and not {"*", resource.group}.isdisjoint(self.api_groups)
            and not wanted.isdisjoint(self.resources)
            and (not self.resource_names or name in self.resource_names)
        )


class _RulesStatus(msgspec.Struct, rename="camel"):
    resource_rules: tuple[_Rule, ...] = ()
    incomplete: bool = False


class _RulesReview(msgspec.Struct):
    status: _RulesStatus


_rules_review = msgspec.json.Decoder(_RulesReview)


class _KnownRules(NamedTuple):
    """
    The rules of a namespace, and when they were asked for.
    """

    at_seconds: float
    rules: Sequence[_Rule]


class HttpRights:
    """
    Implement ``espalier.engine.ports.definitions.Rights``.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._listing = asyncio.Lock()
        self._known: dict[str, _KnownRules] = {}

    async def missing_verbs(
        self, resource: Endpoint, verbs: Sequence[str], *, namespace: str = "", name: str = ""
    ) -> tuple[str, ...]:
        """
        Return the verbs that are not allowed, in one namespace or in all, on one object or on all.

        What the rules of the namespace allow is not asked for one by one. What they do not allow
        is: the rules may be old, and not every authorizer can list its own.
        """
        rules = await self._rules_in(namespace or NO_NAMESPACE)
        left = [v for v in verbs if not any(rule.allows(resource, v, name) for rule in rules)]
        return tuple(
            [verb for verb in left if not await self._is_allowed(resource, verb, namespace, name)]
        )

    async def _rules_in(self, namespace: str) -> Sequence[_Rule]:
        """
        Return the rules of a namespace; none if the server does not know them all.
        """
        async with self._listing:
            now_seconds = self._client.clock.monotonic_seconds()
            known = self._known.get(namespace)
            if known is None or now_seconds - known.at_seconds > MAX_AGE_SECONDS:
                known = _KnownRules(now_seconds, await self._list_rules(namespace))
                self._known[namespace] = known
            return known.rules

    async def _list_rules(self, namespace: str) -> Sequence[_Rule]:
        call = _review_call(
            "SelfSubjectRulesReview", "selfsubjectrulesreviews", {"namespace": namespace}
        )
        try:
            status = (await self._client.fetch(call, _rules_review)).status
        except (NotFoundError, ForbiddenError, RejectedError):
            return ()
        return () if status.incomplete else status.resource_rules

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
        call = _review_call(
            "SelfSubjectAccessReview",
            "selfsubjectaccessreviews",
            {"resourceAttributes": attributes},
        )
        return (await self._client.fetch(call, _review)).status.allowed


def _review_call(kind: str, plural: str, spec: dict[str, JSON]) -> ApiRequest:
    return ApiRequest(
        verb="create",
        resource=f"{plural}.{_GROUP}",
        method="POST",
        path=f"/apis/{_GROUP}/v1/{plural}",
        body={"apiVersion": f"{_GROUP}/v1", "kind": kind, "spec": spec},
        # A review is a query in the form of an object: nothing is stored.
        is_read=True,
    )
