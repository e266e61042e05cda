"""
Rights are read from the rules of a namespace where the server lists them all.
"""

import json
from typing import Any

import pytest
from aiohttp import web

from espalier.cluster.resources.access_reviews import MAX_AGE_SECONDS, NO_NAMESPACE
from tests.cluster.scripted import WIDGETS, ManualClock, connected, status_of

READS = {"verbs": ["get", "list"], "apiGroups": ["example.com"], "resources": ["widgets"]}
WRITES = {
    "verbs": ["patch"],
    "apiGroups": ["example.com"],
    "resources": ["widgets", "widgets/status"],
    "resourceNames": ["a"],
}
EVERYTHING = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}


class Authorizer:
    """
    Answers reviews.

    Attributes:
        rules: By namespace.
        allowed: What single reviews allow: verb and resource.
        asked: The namespaces whose rules were asked for, and the verbs of single reviews.
        status: Of the answer to a review of rules.
    """

    def __init__(self, **rules: list[dict[str, list[str]]]) -> None:
        self.rules = {NO_NAMESPACE: rules.pop("everywhere", []), **rules}
        self.allowed: set[str] = set()
        self.asked: list[str] = []
        self.is_incomplete = False
        self.status = 201

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body: dict[str, Any] = json.loads(await request.read())
        if body["kind"] == "SelfSubjectRulesReview":
            namespace = body["spec"]["namespace"]
            self.asked.append(f"rules of {namespace}")
            if self.status != 201:
                return web.json_response(status_of(self.status, "NotHere"), status=self.status)
            rules = self.rules.get(namespace, [])
            found = {"resourceRules": rules, "incomplete": self.is_incomplete}
            return web.json_response({"status": found}, status=201)
        attributes = body["spec"]["resourceAttributes"]
        self.asked.append(attributes["verb"])
        return web.json_response({"status": {"allowed": attributes["verb"] in self.allowed}})


async def test_what_the_rules_allow_is_asked_for_once_however_many_definitions_there_are() -> None:
    authorizer = Authorizer(everywhere=[READS], ns=[EVERYTHING])
    clock = ManualClock()
    async with connected(authorizer, clock=clock) as cluster:
        for _ in range(20):
            assert await cluster.rights.missing_verbs(WIDGETS, ("get", "list")) == ()
            within = await cluster.rights.missing_verbs(
                WIDGETS, ("patch", "update/status"), namespace="ns"
            )
            assert within == ()
        assert authorizer.asked == [f"rules of {NO_NAMESPACE}", "rules of ns"]
        clock.now_seconds += MAX_AGE_SECONDS + 0.1
        await cluster.rights.missing_verbs(WIDGETS, ("get",))
    assert authorizer.asked[2:] == [f"rules of {NO_NAMESPACE}"]


async def test_what_the_rules_do_not_allow_is_asked_for_since_they_may_be_old() -> None:
    authorizer = Authorizer(everywhere=[READS])
    authorizer.allowed = {"watch"}
    async with connected(authorizer) as cluster:
        verbs = ("get", "watch", "patch", "list/status")
        missing = await cluster.rights.missing_verbs(WIDGETS, verbs)
    assert missing == ("patch", "list/status")
    assert authorizer.asked == [f"rules of {NO_NAMESPACE}", "watch", "patch", "list"]


@pytest.mark.parametrize(
    ("name", "missing"),
    [("a", ()), ("b", ("patch", "patch/status")), ("", ("patch", "patch/status"))],
)
async def test_a_rule_for_one_object_allows_no_other(name: str, missing: tuple[str, ...]) -> None:
    async with connected(Authorizer(everywhere=[WRITES])) as cluster:
        verbs = ("patch", "patch/status")
        assert await cluster.rights.missing_verbs(WIDGETS, verbs, name=name) == missing


@pytest.mark.parametrize("resources", [["*"], ["*/status"], ["widgets/status"]])
async def test_the_forms_of_a_subresource(resources: list[str]) -> None:
    rule = {**READS, "resources": resources}
    async with connected(Authorizer(everywhere=[rule])) as cluster:
        assert await cluster.rights.missing_verbs(WIDGETS, ("get/status",)) == ()
        assert bool(await cluster.rights.missing_verbs(WIDGETS, ("get",))) == (resources != ["*"])


@pytest.mark.parametrize(("is_incomplete", "status"), [(True, 201), (False, 403), (False, 404)])
async def test_each_right_is_asked_for_where_the_rules_are_not_all_known(
    status: int, *, is_incomplete: bool
) -> None:
    authorizer = Authorizer(everywhere=[EVERYTHING])
    authorizer.is_incomplete, authorizer.status = is_incomplete, status
    authorizer.allowed = {"get"}
    async with connected(authorizer) as cluster:
        # An authorizer that cannot list its rules may deny what another one allows.
        assert await cluster.rights.missing_verbs(WIDGETS, ("get", "list")) == ("list",)
    assert authorizer.asked == [f"rules of {NO_NAMESPACE}", "get", "list"]
