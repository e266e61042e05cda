"""
Names, selectors, watches and options for the connection: as for kubectl.
"""

import asyncio
import json

import pytest
import yaml
from click.testing import Result

from espalier.cli.options.durations import Seconds
from espalier.cli.output.exit_codes import Exit
from tests.cli.clusters import NAME, Site, site, widget
from tests.cli.manifests import WIDGETS, items_in
from tests.patience import PACE

GADGETS = WIDGETS.replace("widget", "gadget").replace("Widget", "Gadget")
SHORT = {"spec": {"names": {"shortNames": ["wd"]}}}


async def with_gadgets(cluster: Site, group: str = "example.com", **labels: str) -> str:
    """
    Define gadgets, which have the short name ``wd`` too, and return their full name.
    """
    manifest = yaml.safe_load(GADGETS.replace("example.com", group))
    manifest["spec"]["names"]["shortNames"] = ["wd"]
    manifest["metadata"]["labels"] = labels
    return (await cluster.define(manifest)).name


def names_in(result: Result) -> list[object]:
    return [item["name"] for item in items_in(result.stdout)]


@pytest.mark.parametrize(
    "name",
    [
        NAME,
        f"crd/{NAME}",
        f"customresourcedefinition.apiextensions.k8s.io/{NAME}",
        "widgets",
        "crds/widgets",
        "widget",
        "Widget",
        "wd",
        "widget.example.com",
        "wd.example.com",
        "widgets.v1.example.com",
    ],
)
async def test_a_definition_may_be_named_as_for_kubectl(name: str) -> None:
    async with site(WIDGETS) as cluster:
        await cluster.change(SHORT)
        listed = await cluster.run("status", name, "-o", "json")
        surveyed = await cluster.run("survey", name, "-o", "json")
        checked = await cluster.run("check", "--cluster", name, "-o", "json")
        asked = await cluster.run("can-drop", "v1", name, "-o", "json")

    assert names_in(listed) == names_in(checked) == [NAME]
    assert [item["crd"] for item in items_in(surveyed.stdout)] == [NAME]
    assert [item["crd"] for item in items_in(asked.stdout)] == [NAME]


async def test_the_kind_may_stand_before_the_names() -> None:
    async with site(WIDGETS) as cluster:
        await with_gadgets(cluster)
        both = await cluster.run("status", "crd", "widgets", "gadget", "-o", "json")
        all_of_them = await cluster.run("status", "crds", "-o", "json")

    assert sorted(map(str, names_in(both))) == ["gadgets.example.com", NAME]
    assert len(names_in(all_of_them)) == 2


@pytest.mark.parametrize(
    "command", ["status", "survey", "migrate", "cleanup", "restore", "archive show", "can-drop v1"]
)
async def test_a_name_that_several_definitions_have_is_an_error(command: str) -> None:
    async with site(WIDGETS) as cluster:
        await cluster.change(SHORT)
        await with_gadgets(cluster, "example.org")
        result = await cluster.run(*command.split(), "wd")

    text = f"wd may be gadgets.example.org, {NAME}: name one of them in full."
    assert text in result.stderr
    assert result.exit_code == Exit.USAGE


async def test_a_full_name_costs_no_list_of_definitions() -> None:
    async with site(WIDGETS) as cluster:
        await cluster.run("survey", NAME)

    listed = [one for one in cluster.sandbox.log if one.verb == "list"]
    assert not [one for one in listed if one.path.endswith("/customresourcedefinitions")]


@pytest.mark.parametrize("command", ["status", "survey", "check --cluster", "cleanup --dry-run"])
async def test_definitions_are_selected_by_labels(command: str) -> None:
    async with site(WIDGETS) as cluster:
        await with_gadgets(cluster, team="web")
        for name, team in ((NAME, "db"), ("gadgets.example.com", "web")):
            labels = {"team": team, "espalier.dev/mode": "observe"}
            await cluster.change({"metadata": {"labels": labels}}, name)
        results = {
            selector: await cluster.run(*command.split(), "-l", selector, "-o", "json")
            for selector in ("team=web", "team in (db)", "team", "team=none")
        }
        both = await cluster.run(*command.split(), NAME, "-l", "team=web")
        broken = await cluster.run(*command.split(), "-l", "a b")

    found = {selector: named_in(result) for selector, result in results.items()}
    assert found == {
        "team=web": {"gadgets.example.com"},
        "team in (db)": {NAME},
        "team": {NAME, "gadgets.example.com"},
        "team=none": set(),
    }
    assert "not both" in both.stderr
    assert both.exit_code == Exit.USAGE
    assert "unable to parse requirement" in broken.stderr
    assert broken.exit_code == Exit.UNREADABLE


def named_in(result: Result) -> set[object]:
    return {item.get("crd") or item["name"] for item in items_in(result.stdout)}


async def test_a_migration_of_no_names_needs_a_selector() -> None:
    async with site(WIDGETS) as cluster:
        await cluster.change({"metadata": {"labels": {"team": "web"}}})
        nothing = await cluster.run("migrate")
        selected = await cluster.run("migrate", "-l", "team=web", "--dry-run", "-o", "json")

    assert "Missing argument 'CRD...'" in nothing.stderr
    assert nothing.exit_code == Exit.USAGE
    assert named_in(selected) == {NAME}


@pytest.mark.parametrize("command", ["status", "survey", "cleanup --dry-run", "archive list"])
async def test_requests_act_as_the_user_that_is_given(command: str) -> None:
    async with site(WIDGETS, [widget("a")]) as cluster:
        before = len(cluster.sandbox.log)
        result = await cluster.run(*command.split(), "--as", "jane", "--as-group=web")
        alone = await cluster.run(*command.split(), "--as-group", "web")

    assert {one.user for one in cluster.sandbox.log[before:]} == {"jane"}
    assert result.exit_code == Exit.CLEAN
    assert alone.stderr == (
        "espalier: a UID or groups to act as are given, but no user; name one by --as\n"
    )
    assert alone.exit_code == Exit.USAGE


@pytest.mark.parametrize(("text", "seconds"), [("30", 30.0), ("1m30s", 90.0), ("0", 0.0)])
def test_a_time_limit_is_read_as_kubectl_reads_it(text: str, seconds: float) -> None:
    assert Seconds().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["soon", "-3s", "5 s", ""])
async def test_a_time_limit_that_is_none_is_an_error(text: str) -> None:
    async with site(WIDGETS) as cluster:
        result = await cluster.run("status", f"--request-timeout={text}")

    assert "is no duration: write 30s, 2m or 1h" in result.stderr
    assert result.exit_code == Exit.USAGE


@pytest.mark.parametrize("name", ["table", "json"])
async def test_a_watch_prints_each_definition_that_changes(name: str) -> None:
    async with site(WIDGETS) as cluster:
        faults = cluster.sandbox.faults
        watching = asyncio.create_task(cluster.run("status", "--watch", "-o", name))
        while not faults.open_watches:
            await cluster.stage.definition(NAME)
        await cluster.change({"metadata": {"labels": {"team": "web"}}})
        await cluster.change({"metadata": {"labels": {"espalier.dev/mode": "observe"}}})
        await with_gadgets(cluster)
        await cluster.delete()
        faults.deny("watch", "apiextensions.k8s.io", "customresourcedefinitions")
        faults.close_watches()
        result = await watching

    assert "cannot watch resource" in result.stderr
    assert result.exit_code == Exit.UNREADABLE
    if name == "json":
        rows = [json.loads(line) for line in result.stdout.splitlines()]
        seen = [(row["name"], row["mode"], row.get("deleted", False)) for row in rows]
        gadgets = [one for one in seen if one[0] != NAME]
        assert [one for one in seen if one[0] == NAME] == [
            (NAME, "", False),
            (NAME, "observe", False),
            (NAME, "observe", True),
        ]
        assert set(gadgets) == {("gadgets.example.com", "", False)}
    else:
        title, first, *_ = result.stdout.splitlines()
        assert title.split()[:3] == ["DEFINITION", "STRUCTURAL", "MODE"]
        assert first.split()[:3] == [NAME, "yes", "-"]
        assert result.stdout.splitlines()[2].split()[:3] == [NAME, "yes", "observe"]
        assert [NAME, "-", "(deleted)"] in [line.split()[:3] for line in result.stdout.splitlines()]


async def until_watched(cluster: Site, other: str, *, is_open: bool) -> None:
    while bool(cluster.sandbox.faults.open_watches) is not is_open:
        await cluster.stage.definition(other)


async def test_what_leaves_the_list_of_a_watch_is_shown_as_deleted() -> None:
    def gone(result: Result) -> list[str]:
        return [line.split()[0] for line in result.stdout.splitlines() if "(deleted)" in line]

    async with site(WIDGETS) as cluster:
        faults = cluster.sandbox.faults
        other = await with_gadgets(cluster)
        await cluster.change({"metadata": {"labels": {"espalier.dev/mode": "observe"}}})
        watching = asyncio.create_task(cluster.run("status", "--watch", "--labelled"))
        await until_watched(cluster, other, is_open=True)
        await cluster.change({"metadata": {"labels": {"espalier.dev/mode": None}}})
        await cluster.change({"metadata": {"labels": {"espalier.dev/mode": "observe"}}})
        # No event comes of what happens between two watches.
        faults.close_watches()
        await until_watched(cluster, other, is_open=False)
        await cluster.delete()
        await until_watched(cluster, other, is_open=True)
        faults.deny("watch", "apiextensions.k8s.io", "customresourcedefinitions")
        faults.close_watches()

        assert gone(await watching) == [NAME, NAME]


async def test_a_watch_ends_with_its_time_limit() -> None:
    async with site(WIDGETS) as cluster:
        limit = f"{PACE.scaled(2):.0f}s"
        result = await cluster.run("status", "-w", "--request-timeout", limit)

    assert result.stdout.splitlines()[1].split()[0] == NAME
    assert result.exit_code == Exit.CLEAN


async def test_what_cannot_be_watched_is_an_error() -> None:
    async with site(WIDGETS) as cluster:
        yaml_ = await cluster.run("status", "--watch", "-o", "yaml")
        none = await cluster.run("status", "none.example.com", "--watch")

    assert "--watch prints table, wide, json, not yaml." in yaml_.stderr
    assert yaml_.exit_code == Exit.USAGE
    assert none.stderr == "espalier: none.example.com: the definition does not exist\n"
    assert none.exit_code == Exit.UNREADABLE
