"""
The whole operator, under Kopf, against the sandbox.

The sandbox lives in a thread: Kopf waits for all tasks of its loop, those of a server too.
"""

import asyncio
import json
import shlex
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import kopf
import pytest
from kopf.testing import KopfRunner

from espalier.cluster import connect_to
from espalier.cluster.auth.connection import Connection
from espalier.cluster.auth.credentials import FixedSource
from espalier.cluster.clock import SystemClock
from espalier.errors import TransientError
from espalier.handlers.kopf_module import KopfOperator
from espalier.handlers.settings import Settings
from espalier.handlers.startup import run_operator
from espalier.sandbox import Request, Sandbox
from tests.docs.reading import ROOT, blocks
from tests.handlers.sandboxed import NAMESPACE, PATIENCE_SECONDS, sandbox_running
from tests.manifests.test_manifests import FOLDER, added, documents, find, granted
from tests.patience import PACE

pytestmark = pytest.mark.real_time

# Without the report, which comes whenever the clock has it.
SETTINGS = Settings(
    namespace=NAMESPACE,
    settle_seconds=0,
    structural_grace_seconds=0.2,
    progress_seconds=0,
    report=False,
)
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
# As the documentation shows it.
(KOPF_RUN,) = blocks(ROOT / "docs" / "how-to" / "run-with-kopf.md", "sh")
ENFORCE = {"metadata": {"labels": {"espalier.dev/mode": "enforce"}}}
FOREIGN_FINALIZER = "kopf.zalando.org/KopfFinalizerMarker"


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with sandbox_running() as server:
        yield server


@asynccontextmanager
async def operator(server: Sandbox, settings: Settings = SETTINGS) -> AsyncIterator[None]:
    """
    Run the operator for as long as the block lasts.
    """
    stop_flag = asyncio.Event()
    async with connect_to(connection_to(server.url), SystemClock()) as cluster:
        running = asyncio.create_task(run_operator(settings, cluster, stop_flag=stop_flag))
        try:
            yield
        finally:
            stop_flag.set()
            async with asyncio.timeout(PACE.scaled(PATIENCE_SECONDS)):
                await running


def connection_to(url: str) -> Connection:
    return Connection(server=url, tls=None, credentials=FixedSource(None), origin="a test")


def definition(storage: str, **metadata: Any) -> dict[str, Any]:
    properties = {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": properties}}
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com", **metadata},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": names,
            "versions": [
                {"name": name, "served": True, "storage": name == storage, "schema": schema}
                for name in ("v1alpha1", "v1")
            ],
        },
    }


class Client:
    """
    What a person does with the cluster.
    """

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def get(self, path: str) -> dict[str, Any]:
        return await self._call("GET", path, None)

    async def post(self, path: str, body: Mapping[str, Any]) -> None:
        await self._call("POST", path, body)

    async def merge(self, path: str, body: Mapping[str, Any]) -> None:
        await self._call("PATCH", path, body, content_type="application/merge-patch+json")

    async def delete(self, path: str) -> None:
        await self._call("DELETE", path, None)

    async def eventually_tidy(self, path: str) -> None:
        async with asyncio.timeout(PACE.scaled(PATIENCE_SECONDS)):
            while "garbage" in (await self.get(path))["spec"]:  # noqa: ASYNC110 - it is elsewhere
                await asyncio.sleep(0.02)

    async def eventually_gone(self, path: str) -> None:
        async with asyncio.timeout(PACE.scaled(PATIENCE_SECONDS)):
            while await self._is_found(path):  # noqa: ASYNC110 - it is elsewhere
                await asyncio.sleep(0.02)

    async def condition(self, type_: str) -> dict[str, Any] | None:
        found = await self.get(f"{CRDS}/widgets.example.com")
        conditions = found["status"].get("conditions", [])
        return next((c for c in conditions if c["type"] == type_), None)

    async def eventually(self, type_: str, is_met: Callable[[dict[str, Any] | None], bool]) -> None:
        """
        Wait until a condition is as wished.
        """
        async with asyncio.timeout(PACE.scaled(PATIENCE_SECONDS)):
            while not is_met(await self.condition(type_)):  # noqa: ASYNC110 - it is elsewhere
                await asyncio.sleep(0.02)

    async def _is_found(self, path: str) -> bool:
        async with self._session.get(path) as answer:
            return answer.ok

    async def _call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        *,
        content_type: str = "application/json",
    ) -> dict[str, Any]:
        data = None if body is None else json.dumps(body)
        headers = {"Content-Type": content_type}
        async with self._session.request(method, path, data=data, headers=headers) as answer:
            assert answer.ok, await answer.text()
            decoded: dict[str, Any] = await answer.json()
            return decoded


@pytest.fixture
async def client(sandbox: Sandbox) -> AsyncIterator[Client]:
    async with aiohttp.ClientSession(sandbox.url, headers={"User-Agent": "a person"}) as session:
        yield Client(session)


async def stored_at_v1alpha1(client: Client, **metadata: Any) -> None:
    """
    Make widgets that are stored at v1alpha1, and flip the storage version to v1.
    """
    await client.post(CRDS, definition("v1alpha1", **metadata))
    await client.eventually("Established", lambda c: c is not None and c["status"] == "True")
    for number in range(5):
        widget = {"apiVersion": "example.com/v1", "kind": "Widget", "spec": {"size": number}}
        await client.post(WIDGETS, {**widget, "metadata": {"name": f"w{number}"}})
    await client.merge(f"{CRDS}/widgets.example.com", {"spec": definition("v1")["spec"]})


def is_true(condition: dict[str, Any] | None) -> bool:
    return condition is not None and condition["status"] == "True"


def is_absent(condition: dict[str, Any] | None) -> bool:
    return condition is None


def by(agent: str, server: Sandbox) -> list[Request]:
    return [request for request in server.log if request.user_agent.startswith(agent)]


def asked(request: Request) -> tuple[str, str]:
    """
    The resource and the verb of a request, as RBAC names them.
    """
    _, root, *rest = request.path.split("/")
    group, rest = ("", rest[1:]) if root == "api" else (rest[0], rest[2:])
    if rest[0] == "namespaces" and len(rest) > 2:
        rest = rest[2:]
    resource = "/".join([rest[0], *rest[2:3]])
    return (f"{resource}.{group}" if group else resource), request.verb


async def test_the_label_brings_objects_into_form_and_its_end_takes_the_conditions(
    sandbox: Sandbox, client: Client
) -> None:
    await stored_at_v1alpha1(client, finalizers=[FOREIGN_FINALIZER])

    async with operator(sandbox):
        await client.merge(f"{CRDS}/widgets.example.com", ENFORCE)
        await client.eventually("espalier.dev/StoredObjectsCurrent", is_true)
        current = await client.get(f"{CRDS}/widgets.example.com")
        unlabelled = {"metadata": {"labels": {"espalier.dev/mode": None}}}
        await client.merge(f"{CRDS}/widgets.example.com", unlabelled)
        await client.eventually("espalier.dev/StoredObjectsCurrent", is_absent)
        await client.eventually("espalier.dev/StoredObjectsValid", is_absent)

    assert current["status"]["storedVersions"] == ["v1"]
    for number in range(5):
        raw = sandbox.raw_get(f"/registry/example.com/widgets/default/w{number}")
        assert raw is not None
        assert json.loads(raw)["apiVersion"] == "example.com/v1"
    # Of another operator that runs under Kopf: by itself Kopf would take it off.
    assert current["metadata"]["finalizers"] == [FOREIGN_FINALIZER]
    assert [request for request in by("kopf/", sandbox) if request.mutates] == []


async def test_all_that_is_asked_for_is_granted_and_nothing_else(
    sandbox: Sandbox, client: Client
) -> None:
    await stored_at_v1alpha1(client)
    async with operator(sandbox):
        await client.merge(f"{CRDS}/widgets.example.com", ENFORCE)
        await client.eventually("espalier.dev/StoredObjectsCurrent", is_true)
    migrated = await verbs_used(sandbox, watched={DEFINITIONS})
    await client.delete(f"{CRDS}/widgets.example.com")
    await client.eventually_gone(f"{CRDS}/widgets.example.com")
    await legacy_definition(sandbox, client)
    async with operator(sandbox):
        await client.merge(f"{CRDS}/widgets.example.com", ENFORCE)
        await client.eventually("espalier.dev/StoredObjectsCurrent", is_true)
        # One that comes later is seen by the watch alone.
        await client.post(WIDGETS, untidy("late"))
        await client.eventually_tidy(f"{WIDGETS}/late")
    all_used = await verbs_used(sandbox, watched={DEFINITIONS, "widgets.example.com"})

    roles = [find("ClusterRole", "espalier"), find("Role", "espalier")]
    roles += [role for role in added("structural") if role["kind"] == "ClusterRole"]
    example = granted(*documents(FOLDER / "examples" / "clusterrole.yaml"))
    assert migrated["widgets.example.com"] == {"get", "list", "patch"}
    assert all_used.pop("widgets.example.com") == example["widgets.example.com"]
    # What is kept in Secrets is read back by `espalier restore`, which is no part of the operator.
    all_used["secrets"] |= {"get"}
    # Only asked for where an object cannot be read, and a server does not say which one.
    all_used["namespaces"] = {"list"}
    # The sandbox has no migrations of its own; a real server has, and is asked for them.
    all_used["storageversionmigrations.storagemigration.k8s.io"] = {"list"}
    # What the rules do not show is asked for right by right.
    all_used["selfsubjectaccessreviews.authorization.k8s.io"] = {"create"}
    assert all_used == granted(*roles, find("Role", "espalier-events"))


async def legacy_definition(server: Sandbox, client: Client) -> None:
    """
    Put a definition into the store as one carried over from v1beta1, with an untidy widget.
    """
    legacy = definition("v1", uid="0b5a6c1e-7a4f-4a57-9d2e-5c5f0e1f7a11", generation=1)
    legacy["spec"]["preserveUnknownFields"] = True
    server.raw_put(
        "/registry/apiextensions.k8s.io/customresourcedefinitions/widgets.example.com",
        json.dumps(legacy).encode(),
    )
    await client.eventually("Established", is_true)
    await client.post(WIDGETS, untidy("early"))


def untidy(name: str) -> dict[str, Any]:
    spec = {"size": 1, "garbage": True}
    metadata = {"name": name}
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, "spec": spec}


async def verbs_used(server: Sandbox, *, watched: set[str]) -> dict[str, set[str]]:
    """
    Tell which verbs the operator has used on which resources, once its watches are logged.
    """

    def used() -> list[tuple[str, str]]:
        requests = (*by("espalier/", server), *by("kopf/", server))
        return [asked(request) for request in requests if request.verb]

    async with asyncio.timeout(PACE.scaled(PATIENCE_SECONDS)):
        while not {(name, "watch") for name in watched} <= {*used()}:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    verbs: dict[str, set[str]] = {}
    for resource, verb in used():
        verbs.setdefault(resource, set()).add(verb)
    return verbs


async def test_an_operator_that_is_stopped_in_mid_run_gives_the_lease_back_and_the_next_goes_on(
    sandbox: Sandbox, client: Client
) -> None:
    await stored_at_v1alpha1(client, labels=ENFORCE["metadata"]["labels"])
    slow = replace(SETTINGS, max_in_flight=1, max_writes_per_second=2)
    async with operator(sandbox, slow):
        async with asyncio.timeout(PACE.scaled(PATIENCE_SECONDS)):
            while not stored_at_v1(sandbox):  # noqa: ASYNC110 - it is elsewhere
                await asyncio.sleep(0.02)

    done = stored_at_v1(sandbox)
    assert 0 < done < 5
    own = f"namespaces/{NAMESPACE}"
    leases = (await client.get(f"/apis/coordination.k8s.io/v1/{own}/leases"))["items"]
    assert [lease["spec"]["holderIdentity"] for lease in leases] == ["", ""]
    (checkpoint,) = (await client.get(f"/api/v1/{own}/configmaps"))["items"]
    assert "checkpoint.json.gz" in checkpoint["binaryData"]

    async with operator(sandbox):
        await client.eventually("espalier.dev/StoredObjectsCurrent", is_true)
    assert stored_at_v1(sandbox) == 5


def stored_at_v1(server: Sandbox) -> int:
    """
    Count the widgets in the store that are at v1.
    """
    keys = [f"/registry/example.com/widgets/default/w{number}" for number in range(5)]
    stored = [json.loads(server.raw_get(key) or "") for key in keys]
    return sum(widget["apiVersion"] == "example.com/v1" for widget in stored)


async def test_a_label_that_was_there_before_is_seen_at_the_start(
    sandbox: Sandbox, client: Client
) -> None:
    await stored_at_v1alpha1(client, labels=ENFORCE["metadata"]["labels"])

    async with operator(sandbox):
        await client.eventually("espalier.dev/StoredObjectsCurrent", is_true)


async def test_a_user_without_a_name_may_run_it(
    sandbox: Sandbox, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As 65532 in the image, where a container runtime adds no line to /etc/passwd.
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    for variable in ("LOGNAME", "USER", "LNAME", "USERNAME", "HOME"):
        monkeypatch.delenv(variable, raising=False)
    await stored_at_v1alpha1(client, labels=ENFORCE["metadata"]["labels"])

    async with operator(sandbox):
        await client.eventually("espalier.dev/StoredObjectsCurrent", is_true)


async def test_a_server_that_cannot_be_reached_is_reported_before_anything_starts() -> None:
    async with connect_to(connection_to("http://127.0.0.1:1"), SystemClock()) as cluster:
        with pytest.raises(TransientError) as refused:
            await run_operator(SETTINGS, cluster, stop_flag=asyncio.Event())

    assert "list customresourcedefinitions" in str(refused.value)
    assert "\n" not in str(refused.value)


async def test_kopf_run_works_from_label_to_verified_and_kopf_writes_nothing(
    sandbox: Sandbox, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(sandbox.kubeconfig())
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    monkeypatch.setenv("ESPALIER_SETTLE_SECONDS", "0")
    await stored_at_v1alpha1(client, finalizers=[FOREIGN_FINALIZER])

    with KopfRunner(shlex.split(KOPF_RUN)[1:], timeout=PACE.scaled(PATIENCE_SECONDS)) as kopf_run:
        await client.merge(f"{CRDS}/widgets.example.com", ENFORCE)
        await client.eventually("espalier.dev/StoredObjectsCurrent", is_true)

    assert kopf_run.exit_code == 0
    current = await client.condition("espalier.dev/StoredObjectsCurrent")
    assert current is not None
    assert current["reason"] == "Verified"
    assert stored_at_v1(sandbox) == 5
    found = await client.get(f"{CRDS}/widgets.example.com")
    assert found["metadata"]["finalizers"] == [FOREIGN_FINALIZER]
    assert "annotations" not in found["metadata"]
    assert by("kopf/", sandbox)
    assert [request for request in by("kopf/", sandbox) if request.mutates] == []


async def test_kopf_is_not_asked_to_retry_a_setting_that_is_not_usable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ESPALIER_PAGE_SIZE", "0")

    with pytest.raises(kopf.PermanentError, match="page_size: 0 is not between 1 and 10000"):
        await KopfOperator().start()
