"""
What a migration prunes goes to a folder if one is named, and never beyond the bytes that it may.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from espalier.cli.output.exit_codes import Exit
from tests.cli.clusters import NAME, NAMESPACE, Site, site
from tests.cli.manifests import WIDGETS

MIGRATE = ("migrate", NAME, "--settle-seconds", "0", "--yes")
RESTORE = ("restore", NAME, "--operator-namespace", NAMESPACE)
NOISE = "".join(f"{number * 7919 % 104729:x}" for number in range(2000))


@asynccontextmanager
async def legacy() -> AsyncIterator[Site]:
    """
    Define what the server does not prune, as an upgraded cluster has it, and an object.
    """
    async with site(WIDGETS) as cluster:
        key = f"/registry/apiextensions.k8s.io/customresourcedefinitions/{NAME}"
        data = cluster.sandbox.raw_get(key)
        assert data is not None
        stored = json.loads(data)
        stored["spec"]["preserveUnknownFields"] = True
        cluster.sandbox.raw_put(key, json.dumps(stored).encode())
        await cluster.create(json.loads(as_json("a", {"size": 5, "junk": NOISE})))
        yield cluster


def as_json(name: str, spec: dict[str, object]) -> str:
    manifest = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }
    return json.dumps(manifest)


async def spec_of(cluster: Site) -> object:
    data = await cluster.stage.store.read("/registry/example.com/widgets/default/a")
    assert data is not None
    return json.loads(data)["spec"]


async def test_a_folder_takes_what_is_pruned_and_gives_it_back(tmp_path: Path) -> None:
    folder = str(tmp_path / "archive")
    async with legacy() as cluster:
        migrated = await cluster.run(*MIGRATE, "--archive-folder", folder)
        pruned = await spec_of(cluster)
        secrets = await cluster.connected.archive(NAMESPACE).pages()
        restored = await cluster.run(*RESTORE, "--archive-folder", folder)
        back = await spec_of(cluster)

    assert migrated.exit_code == restored.exit_code == Exit.CLEAN
    assert pruned == {"size": 5}
    assert secrets == ()
    assert back == {"size": 5, "junk": NOISE}


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_what_has_no_room_in_the_archive_is_not_pruned(
    tmp_path: Path, *, elsewhere: bool
) -> None:
    options = ["--archive-max-bytes", "2048"]
    if elsewhere:
        options += ["--archive-folder", str(tmp_path)]
    async with legacy() as cluster:
        full = await cluster.run(*MIGRATE, *options)
        kept = await spec_of(cluster)
        roomy = await cluster.run(*MIGRATE)

    assert full.exit_code == Exit.INCOMPLETE
    assert "ArchiveFull" in full.stdout
    for command in ("espalier archive export", "espalier archive expire", "--archive-max-bytes"):
        assert command in " ".join(full.stdout.split())
    assert kept == {"size": 5, "junk": NOISE}
    assert roomy.exit_code == Exit.CLEAN
