"""
``espalier restore``: what was archived comes back, and what does not is named with its reason.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from click.testing import CliRunner, Result

from espalier import cluster
from espalier.cli import main
from espalier.cli.demo.player import Player
from espalier.cli.demo.screen import Screen
from espalier.cli.demo.stage import Stage
from espalier.cli.demo.steps import Chapter, CreateObjects
from espalier.cli.demo.story import STORY
from espalier.cli.operations.restore import RestoreRequest
from espalier.cli.output.exit_codes import Exit
from espalier.cluster import Cluster, FolderArchive
from espalier.crd import Definition
from espalier.engine.ports import Endpoint, ObjectKey
from espalier.engine.ports.archive import ArchiveEntry
from espalier.paths import JSON
from espalier.sandbox import Fault, Sandbox
from tests.cli.stages import SandboxStore, sandbox_and_kubeconfig

NAME = "trees.demo.espalier.dev"
TREES = Endpoint(
    group="demo.espalier.dev", version="v1alpha1", plural="trees", kind="Tree", namespaced=True
)
KEY = ObjectKey("default", "tree-001")
DEFINE = STORY[0].steps[1]


class Site:
    """
    A sandbox with a definition, and one object that once had more fields.
    """

    def __init__(
        self, sandbox: Sandbox, connected: Cluster, kubeconfig: Path, definition: Definition
    ) -> None:
        self.sandbox = sandbox
        self._kubeconfig = kubeconfig
        self.connected = connected
        self.definition = definition
        self.archive = connected.archive("default")

    async def entries(self, *patch: dict[str, JSON], uid: str = "") -> Sequence[ArchiveEntry]:
        if not uid:
            metadata = (await self.connected.objects.get_object(TREES, KEY))["metadata"]
            assert isinstance(metadata, dict)
            uid = str(metadata["uid"])
        entry = ArchiveEntry(
            api_version=TREES.api_version,
            kind=TREES.kind,
            key=KEY,
            uid=uid,
            resource_version="1",
            patch=patch,
        )
        return [entry]

    def damage(self, page: str) -> None:
        """
        Change a page of the archive, as nobody but etcd could.
        """
        key = f"/registry/secrets/{page}"
        data = self.sandbox.raw_get(key)
        assert data is not None
        secret = json.loads(data)
        secret["data"]["entries.jsonl.gz"] = ""
        self.sandbox.raw_put(key, json.dumps(secret).encode())

    async def restore(self, *arguments: str) -> Result:
        command = ["restore", NAME, "--operator-namespace", "default"]
        command += ["--kubeconfig", str(self._kubeconfig), *arguments]
        return await asyncio.to_thread(CliRunner().invoke, main, command)

    async def spec(self) -> JSON:
        return (await self.connected.objects.get_object(TREES, KEY))["spec"]


@asynccontextmanager
async def site() -> AsyncIterator[Site]:
    creation = CreateObjects(version="v1alpha1", count=1, spec={"species": "pear"})
    told = Chapter(title="", plural="trees", kind="Tree", outcome="", steps=(DEFINE, creation))
    async with sandbox_and_kubeconfig() as (sandbox, file), cluster.connect(file) as connected:
        stage = Stage(connected.client, SandboxStore(sandbox), connected.archive("default"))
        await Player(told, stage, Screen.on_stdout(), patience_seconds=10).play()
        yield Site(sandbox, connected, file, await stage.definition(NAME))


HEIGHT: dict[str, JSON] = {"op": "add", "path": "/spec/height", "value": 3}
JUNK: dict[str, JSON] = {"op": "add", "path": "/spec/junk", "value": "x"}


async def test_what_was_removed_is_put_back() -> None:
    async with site() as relics:
        await relics.archive.store(relics.definition, await relics.entries(HEIGHT))

        result = await relics.restore()

        assert result.output == (
            "OBJECT            PATH          STATE\n"
            "default/tree-001  /spec/height  restored\n"
            "1 restored, 0 already there, 0 refused\n"
        )
        assert result.exit_code == 0
        assert await relics.spec() == {"species": "pear", "height": 3}


async def test_what_is_there_already_is_counted() -> None:
    async with site() as relics:
        await relics.archive.store(relics.definition, await relics.entries(HEIGHT))
        await relics.restore()

        result = await relics.restore()

        assert result.output == "0 restored, 1 already there, 0 refused\n"
        assert result.exit_code == 0


async def test_what_would_be_pruned_again_is_refused() -> None:
    async with site() as relics:
        await relics.archive.store(relics.definition, await relics.entries(JUNK))

        result = await relics.restore()

        assert result.output == (
            "error: default/tree-001: /spec/junk: refused: it would be removed again, so specify"
            " it in the schema first\n"
            "OBJECT            PATH        STATE\n"
            "default/tree-001  /spec/junk  refused\n"
            "0 restored, 0 already there, 1 refused\n"
        )
        assert result.exit_code == 1
        assert await relics.spec() == {"species": "pear"}


async def test_another_object_of_the_same_name_gets_nothing() -> None:
    async with site() as relics:
        await relics.archive.store(relics.definition, await relics.entries(HEIGHT, uid="gone"))

        result = await relics.restore()

        assert "default/tree-001: all of it: refused: another object has this name" in result.output
        assert result.exit_code == 1


async def test_the_list_shows_names_and_paths_and_writes_nothing() -> None:
    async with site() as relics:
        await relics.archive.store(relics.definition, await relics.entries(HEIGHT, JUNK))

        result = await relics.restore("--list")

        assert result.output == (
            "OBJECT            PATH          STATE\n"
            "default/tree-001  /spec/height  archived\n"
            "default/tree-001  /spec/junk    archived\n"
            "2 fields in the archive\n"
        )
        assert result.exit_code == 0
        assert await relics.spec() == {"species": "pear"}


async def test_only_the_objects_asked_for_are_touched() -> None:
    async with site() as relics:
        await relics.archive.store(relics.definition, await relics.entries(HEIGHT))

        result = await relics.restore("--object", "default/other")

        assert "the archive in namespace default has nothing of these objects\n" in result.stdout
        assert result.exit_code == 1
        assert await relics.spec() == {"species": "pear"}


async def test_a_namespace_is_that_of_the_objects() -> None:
    async with site() as relics:
        await relics.archive.store(relics.definition, await relics.entries(HEIGHT))

        elsewhere = await relics.restore("-n", "team-a")
        before = await relics.spec()
        result = await relics.restore("-n", "team-a", "--namespace=default")

        assert "the archive in namespace default has nothing of these objects" in elsewhere.stdout
        assert elsewhere.exit_code == Exit.FINDINGS
        assert before == {"species": "pear"}
        assert "default/tree-001  /spec/height  restored\n" in result.stdout
        assert result.exit_code == Exit.CLEAN


async def test_an_archive_in_a_folder_is_read(tmp_path: Path) -> None:
    async with site() as relics:
        archive = FolderArchive(tmp_path)
        await archive.store(relics.definition, await relics.entries(HEIGHT))

        result = await relics.restore("--archive-folder", str(tmp_path))

        assert "default/tree-001  /spec/height  restored\n" in result.output
        assert await relics.spec() == {"species": "pear", "height": 3}


async def test_a_damaged_page_is_reported_and_the_rest_comes_back() -> None:
    async with site() as relics:
        await relics.archive.store(relics.definition, await relics.entries(HEIGHT))
        name = await relics.archive.store(relics.definition, await relics.entries(JUNK))
        relics.damage(name)

        listed = await relics.restore("--list")
        result = await relics.restore()

        assert f"error: {name}: nothing can be restored from this page" in listed.stdout
        assert listed.stdout.endswith("1 field in the archive; 1 page left out\n")
        assert "default/tree-001  /spec/height  restored\n" in result.stdout
        assert result.stdout.endswith("0 refused; 1 page left out\n")
        assert listed.exit_code == result.exit_code == Exit.INCOMPLETE
        assert await relics.spec() == {"species": "pear", "height": 3}


async def test_what_was_put_back_before_an_error_is_reported() -> None:
    async with site() as relics:
        older = await relics.archive.store(relics.definition, await relics.entries(JUNK))
        await relics.archive.store(relics.definition, await relics.entries(HEIGHT))
        fault = Fault(path=f"/secrets/{older.partition('/')[2]}$", status=403, reason="Forbidden")
        relics.sandbox.faults.add(fault)

        result = await relics.restore()

        assert "default/tree-001  /spec/height  restored\n" in result.stdout
        assert f"error: {NAME}: stopped early: get secrets {older}" in result.stdout
        assert result.stdout.endswith("0 refused; interrupted\n")
        assert result.exit_code == Exit.INCOMPLETE


async def test_the_lease_is_given_back() -> None:
    async with site() as relics:
        await relics.archive.store(relics.definition, await relics.entries(HEIGHT))

        await relics.restore()

        # It would raise LeaseLostError if the command still held it.
        await relics.connected.leases("default", "somebody").acquire(relics.definition)


async def test_a_definition_that_is_not_there_is_one_line() -> None:
    async with sandbox_and_kubeconfig() as (_, file):
        command = ["restore", "none.example.com", "--kubeconfig", str(file)]

        result = await asyncio.to_thread(CliRunner().invoke, main, command)

    assert "none.example.com" in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.exit_code == 3


def test_a_cluster_scoped_object_is_in_none_of_the_namespaces() -> None:
    request = RestoreRequest(
        name=NAME,
        namespace="default",
        folder=None,
        objects=frozenset(),
        namespaces=frozenset({"team-a"}),
    )

    assert request.is_wanted(ObjectKey("team-a", "x"))
    assert not request.is_wanted(ObjectKey("", "x"))
