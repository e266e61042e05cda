"""
Objects nested as deeply as API servers store them, over HTTP: worked on like any other.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import pytest
from aiohttp import web

from espalier.cluster.transport.media_types import PARTIAL_LIST_TYPE
from espalier.crd import Definition, Version
from espalier.engine import Reason, RunOutcome, RunSettings, Scope, ShownLoss, Survey, run, survey
from espalier.paths import JSON
from tests.cluster.scripted import connected
from tests.fakes.cluster import FakeCluster
from tests.fakes.widgets import widgets, written_by

pytestmark = pytest.mark.real_time

SETTINGS = RunSettings(settle_seconds=0, page_size=2)
OPEN: dict[str, JSON] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
SCHEMA: dict[str, JSON] = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "properties": {"raw": OPEN, "size": {"type": "integer"}}}
    },
}
BIG = b"18446744073709551615"


def deep(levels: int) -> bytes:
    return b'{"a":[' * (levels // 2) + BIG + b"]}" * (levels // 2)


class DeepServer:
    """
    Keeps the specs of widgets as bytes, and decodes none of them.
    """

    def __init__(self, **specs: bytes) -> None:
        self.specs = specs
        self.versions = dict.fromkeys(specs, 1)

    async def answer(self, request: web.Request) -> web.Response:
        name = request.path.rpartition("/")[2]
        if name == "widgets":
            return _json(self._list(request))
        if request.method == "PUT":
            body = await request.read()
            self.specs[name] = body[body.index(b'"spec":') + len(b'"spec":') : -1]
            self.versions[name] += 1
        return _json(self._whole(name))

    def _list(self, request: web.Request) -> bytes:
        start, limit = request.query.get("continue", ""), int(request.query["limit"])
        names = sorted(name for name in self.specs if name > start)
        page = names[:limit]
        token = page[-1] if names[limit:] else ""
        is_partial = request.headers["Accept"] == PARTIAL_LIST_TYPE
        show = self._partial if is_partial else self._whole
        head = json.dumps({"resourceVersion": "9", "continue": token}).encode()
        return b'{"metadata":%s,"items":[%s]}' % (head, b",".join(map(show, page)))

    def _partial(self, name: str) -> bytes:
        return b'{"metadata":%s}' % self._metadata(name)

    def _whole(self, name: str) -> bytes:
        return b'{"apiVersion":"example.com/v1","kind":"Widget","metadata":%s,"spec":%s}' % (
            self._metadata(name),
            self.specs[name],
        )

    def _metadata(self, name: str) -> bytes:
        version = str(self.versions[name])
        return json.dumps(
            {
                "name": name,
                "namespace": "default",
                "uid": f"uid-{name}",
                "resourceVersion": version,
                "managedFields": [written_by("kubectl", {"f:spec": {"f:raw": {}}})],
            }
        ).encode()


def _json(body: bytes) -> web.Response:
    return web.Response(body=body, content_type="application/json")


def a_definition(
    labels: Mapping[str, str] = MappingProxyType({}), *, legacy: bool = False
) -> Definition:
    version = Version(name="v1", served=True, storage=True, schema=SCHEMA)
    found = widgets(
        versions=(version,),
        stored_versions=("v1",) if legacy else ("v0", "v1"),
        preserve_unknown_fields=legacy,
    )
    return replace(found, labels={**found.labels, **labels})


def a_server(levels: int) -> DeepServer:
    return DeepServer(
        a=b'{"size":1}',
        b=b'{"raw":' + deep(levels) + b"}",
        c=b'{"size":1,"junk":' + deep(levels) + b"}",
        d=b'{"size":' + deep(levels) + b"}",
        e=b'{"size":"wrong","junk":1}',
    )


async def run_on(server: DeepServer, definition: Definition) -> tuple[RunOutcome, FakeCluster]:
    fake = FakeCluster(definition)
    async with connected(server) as cluster:
        ports = replace(fake.ports, objects=cluster.objects)
        return await run(definition, ports, SETTINGS, fake), fake


async def survey_of(server: DeepServer, definition: Definition) -> Survey:
    fake = FakeCluster(definition)
    async with connected(server) as cluster:
        return await survey(definition, cluster.objects, fake.clock, Scope(page_size=2))


DEPTHS = [1_100, 5_000, 9_900]


@pytest.mark.parametrize("levels", DEPTHS)
async def test_a_survey_looks_at_them(levels: int) -> None:
    found = await survey_of(a_server(levels), a_definition(legacy=True))
    assert (found.objects, found.undecodable) == (5, ())
    assert {str(key) for key in found.violations.first} == {"default/d", "default/e"}
    assert found.normalising.pruned.objects == 2


@pytest.mark.parametrize("levels", DEPTHS)
async def test_they_are_observed(levels: int) -> None:
    definition = a_definition({"espalier.dev/mode": "observe"}, legacy=True)
    outcome, _ = await run_on(a_server(levels), definition)
    assert outcome.reason == Reason.OBSERVED
    assert "2 objects of 5 violate" in outcome.conditions[1].message


@pytest.mark.parametrize("levels", DEPTHS)
async def test_they_are_rewritten_and_validated(levels: int) -> None:
    # What is stored at v0 cannot be known.
    consent = ShownLoss(frozenset({"?schema-cannot-be-read v0"})).digest
    definition = a_definition({"espalier.dev/loss": consent, "espalier.dev/annotate": "false"})
    outcome, fake = await run_on(a_server(levels), definition)
    assert outcome.is_proved
    assert "2 objects of 5 violate" in outcome.conditions[1].message
    assert fake.count("set_stored_versions") == 1


@pytest.mark.parametrize("levels", DEPTHS)
async def test_they_are_archived_and_pruned(levels: int) -> None:
    server = a_server(levels)
    before = dict(server.specs)
    outcome, fake = await run_on(server, a_definition(legacy=True))
    assert outcome.is_proved
    assert {entry.key.name for entry in fake.archived} == {"c", "e"}
    # What stays has kept its very bytes, numbers beyond 64 bits but as the server reads them.
    as_read = {name: spec.replace(BIG, b"1.8446744073709552e19") for name, spec in before.items()}
    as_read["c"] = b'{"size":1}'
    as_read["e"] = b'{"size":"wrong"}'
    pruned = {name: server.specs[name] for name in ("c", "e")}
    assert pruned == {name: as_read[name] for name in pruned}


async def test_one_that_cannot_be_decoded_is_named_and_the_others_go_on() -> None:
    server = DeepServer(a=b'{"size":1,"junk":1}', b=b'{"size":1e999}', c=b'{"size":1,"junk":1}')
    found = await survey_of(server, a_definition(legacy=True))
    assert (found.objects, len(found.undecodable)) == (2, 1)

    outcome, fake = await run_on(server, a_definition(legacy=True))

    assert outcome.reason == Reason.UNDECODABLE
    assert "default/b (an object is not JSON" in outcome.conditions[0].message
    assert outcome.conditions[1].status == "Unknown"
    assert server.specs["a"] == server.specs["c"] == b'{"size":1}'
    assert fake.count("set_stored_versions") == 0
