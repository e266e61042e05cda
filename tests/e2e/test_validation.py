"""
The server and Espalier refuse objects for the same causes.
"""

import http.client
import json
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from espalier import crd as crds
from espalier import schema
from espalier.crd.advice.server_versions import without_formats
from espalier.golang.strfmt import FORMATS as KNOWN_FORMATS
from espalier.schema import Answer, Profile, Resource, Standing
from tests.e2e.conftest import MakeCrd
from tests.e2e.controlplane.api import JSON_TYPE
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import NAMESPACE, Crd, Document, version
from tests.e2e.older_servers import Cause, causes_of, minor_of
from tests.e2e.refusals import FORMATS, fields, openapi, specs
from tests.e2e.waiting import eventually

pytestmark = pytest.mark.e2e

DRY_RUN = "?dryRun=All"
SUBRESOURCES = {
    "status": {},
    "scale": {
        "specReplicasPath": ".spec.scale.replicas",
        "statusReplicasPath": ".status.replicas",
    },
}
# Older servers accept some of the objects.
NEWEST = 37
MIXED = 40
SEED = 7


class Client:
    """
    Send dry-run writes to a server over one connection.
    """

    def __init__(self, plane: ControlPlane) -> None:
        self.minor = minor_of(plane.api)
        self._headers = plane.api.headers | {"Content-Type": JSON_TYPE}
        self._connection = plane.api.connect()

    def close(self) -> None:
        self._connection.close()

    def causes(self, method: str, path: str, body: Document) -> list[Cause]:
        """
        Return the causes of a refusal in the server's order; none if the write is accepted.
        """
        self._connection.request(method, path + DRY_RUN, json.dumps(body), self._headers)
        response = self._connection.getresponse()
        answer = json.loads(response.read())
        if response.status < http.client.BAD_REQUEST:
            return []
        assert response.status == http.client.UNPROCESSABLE_ENTITY, answer
        return [
            (cause["field"], cause["reason"], cause["message"])
            for cause in answer["details"]["causes"]
        ]


@pytest.fixture
def client(control_plane: ControlPlane) -> Iterator[Client]:
    made = Client(control_plane)
    yield made
    made.close()


def served(plots: Crd, minor: int) -> Resource:
    definition = crds.read_definition(without_formats(plots.read(), minor))
    return crds.resource_of(definition, definition.version("v1"))


def decoded(obj: Document, resource: Resource) -> Document:
    normal = schema.normalize(obj, resource.structural, profile=Profile.APISERVER).value
    assert isinstance(normal, dict)
    return normal


def created(obj: Document, resource: Resource) -> Answer:
    placed = obj | {"metadata": {"namespace": NAMESPACE, **obj["metadata"]}}
    placed.pop("status", None)
    return schema.check_creation(decoded(placed, resource), resource)


def compare(theirs: list[Cause], ours: list[Cause], about: Any) -> None:
    # The server iterates its maps in random order.
    assert Counter(ours) == Counter(theirs), about


def test_two_hundred_invalid_objects_are_refused_for_the_same_causes(
    crd: MakeCrd, client: Client
) -> None:
    plots = crd("plots")
    plots.create([version("v1", openapi(), subresources=SUBRESOURCES)], storage="v1")
    resource, path = served(plots, client.minor), plots.objects_path("v1")
    asked = 0
    told: Counter[str] = Counter()

    for spec in specs(MIXED, SEED):
        obj = plots.object("v1", "a", spec=spec)
        theirs = client.causes("POST", path, obj)
        errors = created(obj, resource).errors
        assert errors or client.minor < NEWEST, spec
        compare(theirs, causes_of(errors, resource.structural, client.minor), spec)
        told.update(fields()[name].about for name in spec)
        asked += 1

    assert asked >= 200
    assert {name.replace("-", "") for name in FORMATS} | {"password"} == {*KNOWN_FORMATS}
    assert {about: count for about, count in told.items() if count < 3} == {}


METADATA: tuple[Document, ...] = (
    {"name": "UPPER"},
    {"name": "a/b"},
    {"name": "a", "generateName": "UPPER-"},
    {"name": "a", "generateName": "A-"},
    {"name": "a", "labels": {"-": "-", "ok": "a b"}},
    {"name": "a", "annotations": {"a b": "", "": ""}},
    {"name": "a", "annotations": {"long": "x" * 300_000}},
    {"name": "a", "finalizers": ["a b", "orphan", "foregroundDeletion"]},
    {"name": "a", "ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "e"}]},
    {"name": "a", "ownerReferences": [{"apiVersion": "a/b/c", "uid": "u"}]},
)
SCALES: tuple[Document, ...] = ({"replicas": -1}, {"replicas": 2**31}, {"replicas": "1"})


def test_metadata_and_replicas_are_refused_for_the_same_causes(
    crd: MakeCrd, client: Client
) -> None:
    rows = crd("rows")
    rows.create([version("v1", openapi(), subresources=SUBRESOURCES)], storage="v1")
    resource, path = served(rows, client.minor), rows.objects_path("v1")
    spec = {"text": 1, "least": 1}

    objects = [rows.object("v1", "a", spec=spec) | {"metadata": each} for each in METADATA]
    objects += [rows.object("v1", "a", spec={"scale": scale}) for scale in SCALES]
    for obj in objects:
        theirs = client.causes("POST", path, obj)
        assert theirs, obj["metadata"]
        errors = created(obj, resource).errors
        compare(theirs, causes_of(errors, resource.structural, client.minor), obj["metadata"])


KEEP_ALL: Document = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def loosely_stored(beds: Crd, client: Client) -> list[Document]:
    """
    Store objects that violate the schema that the definition gets later.
    """
    loose = {"type": "object", "properties": {"spec": KEEP_ALL, "status": KEEP_ALL}}
    beds.create([version("v1", loose)], storage="v1")
    made = [
        beds.object("v1", f"{name}-{index}", spec={name: value}, status={"replicas": replicas})
        for name, field in fields().items()
        for index, (value, replicas) in enumerate(zip(field.values, (1, "x"), strict=False))
    ]
    made.append(beds.object("v1", "valid", spec={"text": "x"}, status={"replicas": 1}))
    beds.add("v1", *made)
    beds.set_versions([version("v1", openapi(), subresources=SUBRESOURCES)], storage="v1")
    path = beds.objects_path("v1")

    def in_force() -> None:
        assert client.causes("POST", path, beds.object("v1", "new", spec={"text": 1}))

    eventually(in_force)
    beds.wait_until_served("v1")
    listed: list[Document] = beds.plane.api.get(path)["items"]
    return listed


def test_updates_of_invalid_objects_are_refused_for_the_same_causes(
    crd: MakeCrd, client: Client
) -> None:
    beds = crd("beds")
    listed = loosely_stored(beds, client)
    resource, path = served(beds, client.minor), beds.objects_path("v1")
    causes = partial(causes_of, root=resource.structural, minor=client.minor)
    standings: Counter[Standing] = Counter()

    for obj in listed:
        name, old = obj["metadata"]["name"], decoded(obj, resource)
        verdict = schema.judge_stored(old, resource)
        standings[verdict.standing] += 1
        refused = client.causes("PUT", f"{path}/{name}", obj)
        assert {*causes(verdict.refusals)} == {*refused}, name
        compare(refused, causes(schema.check_update(old, old, resource).errors), name)
        for changed in (
            obj | {"spec": obj["spec"] | {"lower": "b", "text": "b"}},
            obj | {"metadata": obj["metadata"] | {"labels": {"-": "-"}}},
            obj | {"spec": {"whole": "x"}},
            obj | {"spec": obj["spec"] | {"ordered": {"x": -1, "y": -2}, "lower": "b"}},
        ):
            theirs = client.causes("PUT", f"{path}/{name}", changed)
            answer = schema.check_update(decoded(changed, resource), old, resource)
            compare(theirs, causes(answer.errors), (name, changed["spec"]))
        for status in ({"replicas": -1}, {"replicas": "x"}, {"replicas": 1, "a": 1}):
            changed = obj | {"status": status}
            theirs = client.causes("PUT", f"{path}/{name}/status", changed)
            answer = schema.check_status_update(decoded(changed, resource), old, resource)
            compare(theirs, causes(answer.errors), (name, status))

    assert standings[Standing.VALID] == 1 or client.minor < NEWEST
    assert standings[Standing.WRITABLE] > 30
    assert standings[Standing.BLOCKED] > 30
