"""
``espalier archive``: what is kept, copies of it, and what is old enough to go.
"""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from espalier.cli.output.exit_codes import Exit
from espalier.cli.output.formats import TABULAR
from espalier.engine.ports import ObjectKey
from espalier.engine.ports.archive import ArchiveEntry
from tests.cli.clusters import NAME, NAMESPACE, Site, site
from tests.cli.golden import check_golden
from tests.cli.manifests import WIDGETS, items_in

ENTRY = ArchiveEntry(
    api_version="example.com/v1",
    kind="Widget",
    key=ObjectKey("default", "blue"),
    uid="1",
    resource_version="2",
    patch=(
        {"op": "add", "path": "/spec/colour", "value": "secret"},
        {"op": "add", "path": "/spec/a~1b", "value": {"x": 1}},
    ),
)


async def archived(cluster: Site) -> None:
    definition = await cluster.stage.definition(NAME)
    await cluster.connected.archive(NAMESPACE).store(definition, [ENTRY])


async def aged(cluster: Site) -> None:
    """
    Make the archive's pages years old, as nobody but etcd could.
    """
    for page in await cluster.connected.archive(NAMESPACE).pages():
        key = f"/registry/secrets/{page.name}"
        data = cluster.sandbox.raw_get(key)
        assert data is not None
        secret = json.loads(data)
        secret["metadata"]["annotations"]["espalier.dev/created"] = "2020-01-02T03:04:05Z"
        cluster.sandbox.raw_put(key, json.dumps(secret).encode())


async def test_pages_are_listed_and_shown() -> None:
    async with site(WIDGETS) as cluster:
        await archived(cluster)
        listed = await cluster.run("archive", "list")
        document = await cluster.run("archive", "list", "-o", "json")
        shown = await cluster.run("archive", "show", NAME)
        values = await cluster.run("archive", "show", NAME, "--values")

    assert listed.stdout.startswith("DEFINITION           OBJECTS  BYTES  CREATED")
    assert f"\n{NAME}  1        " in listed.stdout
    assert listed.exit_code == Exit.CLEAN
    (item,) = items_in(document.stdout)
    assert (item["crd"], item["objects"], item["whole"]) == (NAME, 1, True)
    assert "secret" not in shown.stdout
    assert "secret" in values.stdout


async def test_values_are_shown_as_json() -> None:
    async with site(WIDGETS) as cluster:
        await archived(cluster)
        table = await cluster.run("archive", "show", "widgets", "--values")
        document = await cluster.run("archive", "show", "widgets", "--values", "-o", "json")

    rows = [line.split("  ") for line in table.stdout.splitlines()]
    values = [json.loads(row[-1]) for row in rows[1:-1]]
    assert values == [item["value"] for item in items_in(document.stdout)] == ["secret", {"x": 1}]
    assert table.stdout.endswith(f"2 fields of 1 object of {NAME}\n")


@pytest.mark.parametrize("name", TABULAR)
async def test_each_format_is_as_it_was_looked_at(name: str) -> None:
    async with site(WIDGETS) as cluster:
        await archived(cluster)
        await aged(cluster)
        (page,) = await cluster.connected.archive(NAMESPACE).pages()
        listed = await cluster.run("archive", "list", "-o", name)
        shown = await cluster.run("archive", "show", NAME, "-o", name)

    # How well it is compressed, and so what its name ends with, is zlib's affair.
    told, content = (one.stdout.replace(page.name, "PAGE") for one in (listed, shown))
    masked = told.replace(f"{page.size_bytes}", "###").replace(f"{page.size_bytes:,}", "###")
    check_golden(f"archive.list.{name}.txt", masked)
    check_golden(f"archive.show.{name}.txt", content)
    assert listed.exit_code == shown.exit_code == Exit.CLEAN


async def test_an_empty_archive_is_clean() -> None:
    async with site(WIDGETS) as cluster:
        listed = await cluster.run("archive", "list")
        shown = await cluster.run("archive", "show", NAME, "-o", "json")

    assert listed.stdout == "0 pages, 0 bytes\n"
    assert items_in(shown.stdout) == []
    assert listed.exit_code == shown.exit_code == Exit.CLEAN


async def test_an_export_can_be_read_and_done_again(tmp_path: Path) -> None:
    folder = str(tmp_path / "archive")
    async with site(WIDGETS) as cluster:
        await archived(cluster)
        first = await cluster.run("archive", "export", folder)
        again = await cluster.run("archive", "export", folder)
        shown = await cluster.run("archive", "show", NAME, "--archive-folder", folder)
        there = await cluster.run("archive", "list")
    kept = len(list(tmp_path.rglob("*.gz")))  # noqa: ASYNC240 - a handful of files

    assert first.stdout.endswith(f"1 page in {folder}\n")
    assert again.exit_code == first.exit_code == Exit.CLEAN
    assert kept == 1
    assert "/spec/colour" in shown.stdout
    assert there.stdout.count(NAME) == 1


async def test_old_pages_go_after_a_yes() -> None:
    async with site(WIDGETS) as cluster:
        await archived(cluster)
        young = await cluster.run("archive", "expire", "--older-than", "1w", "--yes")
        await aged(cluster)
        dry = await cluster.run("archive", "expire", "--older-than", "4w", "--dry-run")
        asked = await cluster.run("archive", "expire", "--older-than", "4w")
        left = await cluster.run("archive", "list")
        removed = await cluster.run("archive", "expire", "--older-than", "4w", "--yes")
        gone = await cluster.run("archive", "list")

    assert young.stdout == "0 pages, 0 bytes, to be removed\n"
    assert NAME in dry.stdout
    assert asked.exit_code == Exit.INCOMPLETE
    assert f"{NAME}, 1 object, 2020-01-02T03:04:05Z" in asked.stderr
    assert left.stdout.count(NAME) == 1
    assert removed.stdout.endswith(" bytes, removed\n")
    assert removed.exit_code == Exit.CLEAN
    assert gone.stdout == "0 pages, 0 bytes\n"


async def damaged(cluster: Site, value: str = "") -> str:
    """
    Archive another page, and damage it as nobody but etcd could.
    """
    definition = await cluster.stage.definition(NAME)
    entry = replace(ENTRY, uid="2", key=ObjectKey("default", "red"))
    name = await cluster.connected.archive(NAMESPACE).store(definition, [entry])
    key = f"/registry/secrets/{name}"
    data = cluster.sandbox.raw_get(key)
    assert data is not None
    secret = json.loads(data)
    secret["data"]["entries.jsonl.gz"] = value
    cluster.sandbox.raw_put(key, json.dumps(secret).encode())
    return name


@pytest.mark.parametrize("value", ["", "!", "AAAA"])
async def test_a_damaged_page_is_reported_and_the_rest_is_shown_and_exported(
    value: str, tmp_path: Path
) -> None:
    async with site(WIDGETS) as cluster:
        await archived(cluster)
        name = await damaged(cluster, value)
        shown = await cluster.run("archive", "show", NAME)
        exported = await cluster.run("archive", "export", str(tmp_path))

    assert "/spec/colour" in shown.stdout
    assert f"error: {name}: nothing can be restored from this page" in shown.stdout
    assert exported.stdout.endswith(f"1 page in {tmp_path}; 1 left out\n")
    assert f"error: {name}: nothing can be restored from this page" in exported.stdout
    assert shown.exit_code == exported.exit_code == Exit.INCOMPLETE


@pytest.mark.parametrize("age", ["", "5", "d", "-1d", "1y", "9999999999d"])
async def test_an_age_that_makes_no_sense_is_a_usage_error(age: str) -> None:
    async with site(WIDGETS) as cluster:
        result = await cluster.run("archive", "expire", "--older-than", age)

    assert "is not an age: write 90d" in result.stderr
    assert result.exit_code == Exit.USAGE
